"""Health: what a supervisor asks a worker over HTTP, beside its metrics.

/live     200 while the event loop turns; 503 when it has not for STUCK_AFTER_S seconds: the worker is to be started again
/ready    200 when the worker has joined its group, has its state and reaches Kafka and Postgres; else 503 and why
/metrics  for Prometheus

It is served from an event loop of its own, in a thread, so that it answers when the worker's loop is stuck. What many ask at once
is found out once, and connections that last too long are closed.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import faust
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from agents.runtime.metrics import GENERATION, LAG, PARTITIONS, READY
from agents.runtime.state import StateStore
from pipeline.config import Settings
from pipeline.kafka.admin import BrokerError, admin
from pipeline.kafka.topics import STREAMS
from pipeline.storage.engine import check

STUCK_AFTER_S = 60.0
"""Seconds without a turn of the event loop after which a worker counts as dead: longer than the longest batch."""
INTERVAL_S = 1.0
"""Seconds between two looks at the event loop, and for which an answer about Postgres is good."""
BROKER_TIMEOUT_S = 3.0
"""Seconds in which Kafka has to answer."""
CONNECTION_TIMEOUT_S = 10.0
"""Seconds that a connection may last."""
MAX_CONNECTIONS = 100
"""Connections at once; more are hung up on."""


@dataclass
class Health:
    """What is known of a worker's health; written by its event loop, read by the thread that answers."""

    database: Callable[[], str]
    """says what is wrong with Postgres; nothing if all is well"""
    broker: Callable[[], Awaitable[str]]
    """the same of Kafka"""
    turned: float = field(default_factory=time.monotonic)
    generation: int = 0
    partitions: int = 0
    loading: int = 0
    lag: int = 0

    def live(self) -> bool:
        """Whether the event loop turns."""
        return time.monotonic() - self.turned < STUCK_AFTER_S

    def missing(self, *services: str) -> list[str]:
        """What the worker waits for, `services` being what is wrong with these; nothing if it is ready."""
        wrong = [*services] if self.live() else ["the event loop does not turn"]
        if self.generation < 1:
            wrong.append("it has not joined its consumer group")
        if self.loading:
            wrong.append(f"it loads the state of {self.loading} partitions")
        return [sentence for sentence in wrong if sentence]


def watch(app: faust.App, settings: Settings, stores: list[StateStore[Any, Any]]) -> Health:
    """The health of this app's worker, kept up to date by its event loop."""
    health = Health(check(settings.postgres), partial(_broker, settings))

    @app.timer(INTERVAL_S)  # type: ignore[untyped-decorator]
    async def look() -> None:
        consumer = app.consumer
        health.turned = time.monotonic()
        health.generation = 0 if app.rebalancing else app.consumer_generation_id
        assigned = consumer.assignment()
        health.partitions = len(assigned)
        health.loading = sum(len(store.loading) for store in stores)
        lags = dict.fromkeys(map(settings.topic, STREAMS), 0)
        for partition in assigned:
            lags[partition.topic] = lags.get(partition.topic, 0) + (consumer.left(partition) or 0)
        for topic, lag in lags.items():
            LAG.labels(topic.removeprefix(f"{settings.topic_prefix}.")).set(lag)
        GENERATION.set(health.generation)
        PARTITIONS.set(health.partitions)
        health.lag = sum(lags.values())

    return health


async def _broker(settings: Settings) -> str:
    """What is wrong with Kafka; nothing if it answers."""
    try:
        async with asyncio.timeout(BROKER_TIMEOUT_S), admin(settings):
            return ""
    except BrokerError as error:
        return str(error)
    except TimeoutError:
        return f"Kafka at {settings.kafka} does not answer within {BROKER_TIMEOUT_S:.0f} s"


def serve(health: Health, host: str, port: int) -> None:
    """Answer at this address, in a thread of its own, as long as the process lives. Raises OSError if it is taken."""
    started: list[BaseException | None] = []
    ready = threading.Event()

    async def run() -> None:
        runner = web.AppRunner(answers(health), access_log=None, handle_signals=False)
        await runner.setup()
        try:
            loop, limited = asyncio.get_running_loop(), _Limited(runner)
            await loop.create_server(limited, host, port)
        except OSError as error:
            started.append(error)
            return
        finally:
            ready.set()
        await asyncio.Event().wait()

    threading.Thread(target=lambda: asyncio.run(run()), daemon=True, name="health").start()
    ready.wait()
    if started and started[0] is not None:
        raise started[0]


class _Limited:
    """Makes the protocols of a server's connections, each of which is closed after CONNECTION_TIMEOUT_S seconds."""

    def __init__(self, runner: web.AppRunner) -> None:
        self._make = runner.server
        self._open: set[Any] = set()

    def __call__(self) -> asyncio.Protocol:
        """The protocol of a new connection."""
        assert self._make is not None
        self._open = {protocol for protocol in self._open if protocol.transport is not None}
        protocol = self._make()
        loop = asyncio.get_running_loop()
        loop.call_later(CONNECTION_TIMEOUT_S if len(self._open) < MAX_CONNECTIONS else 0, self._hang_up, protocol)
        loop.call_soon(self._open.add, protocol)
        return protocol

    def _hang_up(self, protocol: Any) -> None:
        self._open.discard(protocol)
        if protocol.transport is not None:
            protocol.transport.abort()


def answers(health: Health) -> web.Application:
    """The web application."""
    found: dict[str, Any] = {"at": -INTERVAL_S, "asked": None}

    async def services() -> tuple[str, str]:
        """What is wrong with Postgres and with Kafka: one question at a time, however many ask."""
        if found["asked"] is None and time.monotonic() - found["at"] >= INTERVAL_S:
            asking = asyncio.gather(asyncio.to_thread(health.database), health.broker())
            found["asked"] = asyncio.ensure_future(asking)
        if found["asked"] is not None:
            asked = found["asked"]
            found["said"] = await asyncio.shield(asked)
            if found["asked"] is asked:
                found.update(asked=None, at=time.monotonic())
        database, broker = found["said"]
        return database, broker

    async def live(_: web.Request) -> web.Response:
        well = health.live()
        return web.json_response({"live": well}, status=200 if well else 503)

    async def ready(_: web.Request) -> web.Response:
        missing = health.missing(*await services())
        body = {
            "ready": not missing,
            "missing": missing,
            "generation": health.generation,
            "partitions": health.partitions,
            "lag": health.lag,
        }
        return web.json_response(body, status=503 if missing else 200)

    async def metrics(_: web.Request) -> web.Response:
        READY.set(not health.missing(*await services()))
        return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def other(_: web.Request) -> web.Response:
        return web.Response(status=404, text="There are /live, /ready and /metrics.\n")

    application = web.Application()
    for path, answer in (("/live", live), ("/ready", ready), ("/metrics", metrics), ("/{other:.*}", other)):
        application.router.add_get(path, answer)
    return application
