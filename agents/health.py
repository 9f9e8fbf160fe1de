"""Health: what a supervisor asks a worker over HTTP, beside its metrics.

/live     200 while the event loop turns; 503 when it has not for STUCK seconds: the worker is to be started again
/ready    200 when the worker has joined its group, has the state of its partitions and reaches Postgres; else 503 and why
/metrics  for Prometheus
"""

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import faust
from prometheus_client import make_wsgi_app

from agents.metrics import GENERATION, LAG
from agents.tables import StageTable
from pipeline.config import Settings
from pipeline.storage.engine import check

STUCK = 60.0
"""Seconds without a turn of the event loop after which a worker counts as dead: longer than the longest batch."""
EVERY = 1.0
"""Seconds between two looks at the event loop."""


@dataclass
class Health:
    """What is known of a worker's health; written by its event loop, read by the threads that answer."""

    database: Callable[[], str]
    """says what is wrong with Postgres; nothing if all is well"""
    turned: float = field(default_factory=time.monotonic)
    generation: int = 0
    partitions: int = 0
    loading: int = 0
    lag: int = 0

    def live(self) -> bool:
        """Whether the event loop turns."""
        return time.monotonic() - self.turned < STUCK

    def missing(self) -> list[str]:
        """What the worker waits for; nothing if it is ready."""
        wrong = [self.database()] if self.live() else ["the event loop does not turn"]
        if self.generation < 1:
            wrong.append("it has not joined its consumer group")
        if self.loading:
            wrong.append(f"it loads the state of {self.loading} partitions")
        return [sentence for sentence in wrong if sentence]


def watch(app: faust.App, settings: Settings, tables: list[StageTable[Any, Any]]) -> Health:
    """The health of this app's worker, kept up to date by its event loop."""
    health = Health(check(settings.postgres))

    @app.timer(EVERY)  # type: ignore[untyped-decorator]
    async def look() -> None:
        consumer = app.consumer
        health.turned = time.monotonic()
        health.generation = 0 if app.rebalancing else app.consumer_generation_id
        assigned = consumer.assignment()
        health.partitions = len(assigned)
        health.loading = sum(len(table.loading) for table in tables)
        lags: dict[str, int] = {}
        for partition in assigned:
            done = consumer._committed_offset.get(partition)  # noqa: SLF001 - Faust keeps it to itself
            end = consumer.highwater(partition)
            if end is not None:
                lags[partition.topic] = lags.get(partition.topic, 0) + max(0, end - (done or 0))
        for topic, lag in lags.items():
            LAG.labels(topic.removeprefix(f"{settings.topic_prefix}.")).set(lag)
        GENERATION.set(health.generation)
        health.lag = sum(lags.values())

    return health


def serve(health: Health, port: int) -> None:
    """Answer on this port, in a thread of its own, as long as the process lives."""
    server = make_server("", port, answers(health), server_class=_Server, handler_class=_Silent)
    threading.Thread(target=server.serve_forever, daemon=True, name="health").start()


def answers(health: Health) -> Callable[..., Iterable[bytes]]:
    """The WSGI application."""
    metrics = make_wsgi_app()

    def application(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"].rstrip("/")
        if path == "/metrics":
            found: Iterable[bytes] = metrics(environ, start)
            return found
        if path == "/live":
            well = health.live()
            body: dict[str, Any] = {"live": well}
        elif path == "/ready":
            missing = health.missing()
            well = not missing
            body = {
                "ready": well,
                "missing": missing,
                "generation": health.generation,
                "partitions": health.partitions,
                "lag": health.lag,
            }
        else:
            start("404 Not Found", [("Content-Type", "text/plain")])
            return [b"There are /live, /ready and /metrics.\n"]
        start("200 OK" if well else "503 Service Unavailable", [("Content-Type", "application/json")])
        return [json.dumps(body).encode() + b"\n"]

    return application


class _Server(ThreadingMixIn, WSGIServer):
    """Several may ask at once; none keeps the process alive."""

    daemon_threads = True


class _Silent(WSGIRequestHandler):
    """Being asked is not worth a line in the log."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
