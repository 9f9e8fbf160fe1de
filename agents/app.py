"""The Faust app, made from settings: what the worker runs."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any

import faust
import structlog
from faust.types import TP
from mode import CrashingSupervisor

from agents import cluster, detect, fingerprint, normalise, store
from agents.chunks import WAITING, ChunkScheduler, hand_over_chunks
from agents.faust_fixes import correct_faust
from agents.health import serve, watch
from agents.outbox import Sender
from agents.tables import StageTable
from agents.ticks import keep_ticking
from pipeline.broker import BrokerError, admin
from pipeline.config import Settings
from pipeline.connection import tls
from pipeline.embedded.worker import SAYS_READY
from pipeline.unreadable import read_everything

log = structlog.get_logger()

LOOK_AGAIN = 5.0
"""Seconds after which a worker that waits for the broker looks for it again."""


class App(faust.App):  # type: ignore[misc]
    """A Faust app with connections of our own."""

    closing: Sequence[Callable[[], Awaitable[None]]] = ()
    broker_answers: Callable[[], Awaitable[None]]
    """returns if the broker answers, or raises BrokerError"""
    is_ready = False

    async def on_start(self) -> None:
        """Wait for the broker: a worker that starts while it is away works when it is back."""
        while not self.should_stop:
            try:
                await self.broker_answers()
                break
            except BrokerError as error:
                log.warning("waiting for Kafka", error=str(error))
                await self.sleep(LOOK_AGAIN)
        await super().on_start()

    def _create_directories(self) -> None:
        """None: Faust would make folders for its tables in the working folder, where a container may not write."""

    async def on_stop(self) -> None:
        """Close them, last of all."""
        await super().on_stop()
        await asyncio.gather(*(close() for close in self.closing))


def create_app(settings: Settings) -> App:
    """The app with its five agents and two tables."""
    app = App(
        settings.topic_prefix,
        version=1,
        broker=[f"kafka://{server.strip()}" for server in settings.kafka.split(",")],
        broker_credentials=_credentials(settings),
        store="memory://",
        web_enabled=False,
        autodiscover=False,
        topic_allow_declare=False,  # topics are ours to make: with the right clean-up, before a worker starts
        topic_disable_leader=True,
        table_standby_replicas=0,
        stream_recovery_delay=0.0,
        stream_wait_empty=False,
        ConsumerScheduler=ChunkScheduler,
        stream_buffer_maxsize=WAITING,
        agent_supervisor=CrashingSupervisor,  # Faust would restart a failing agent for ever, in silence
        broker_commit_interval=1.0,
        broker_session_timeout=6.0,  # how long the partitions of a killed worker wait for another
        broker_heartbeat_interval=1.5,
        consumer_auto_offset_reset="earliest",
    )
    app.broker_answers = partial(_answers, settings)
    correct_faust(app)
    read_everything()
    hand_over_chunks()
    sender = Sender(settings)
    for stage in (normalise, fingerprint, store):
        stage.declare(app, settings, sender)
    clustering = cluster.declare(app, settings)
    tables: list[StageTable[Any, Any]] = [clustering, detect.declare(app, settings, clustering)]

    @app.task  # type: ignore[untyped-decorator]
    async def ticks() -> None:
        await keep_ticking(settings, sender, lambda: _living(clustering))

    app.closing = [sender.close, *(table.close for table in tables)]
    if settings.metrics_port:
        serve(watch(app, settings, tables), settings.metrics_host, settings.metrics_port)
    app.on_partitions_assigned.connect(_say_what_is_assigned, weak=False)
    return app


async def _answers(settings: Settings) -> None:
    async with admin(settings):
        pass


def _living(clustering: StageTable[Any, Any]) -> Iterator[tuple[int, str]]:
    """The editions that have clusters, each with its partition."""
    for number, editions in clustering.held().items():
        for name, edition in editions.items():
            if edition.clusters:
                yield number, name


def _credentials(settings: Settings) -> Any:
    """How Faust's own consumer logs in."""
    if settings.kafka_security.startswith("SASL"):
        return faust.SASLCredentials(
            username=settings.kafka_user,
            password=settings.secret(),
            mechanism=settings.kafka_mechanism,
            ssl_context=tls(settings) if settings.kafka_security == "SASL_SSL" else None,
        )
    return faust.SSLCredentials(context=tls(settings)) if settings.kafka_security == "SSL" else None


async def _say_what_is_assigned(app: App, assigned: set[TP], **_: Any) -> None:
    partitions = " ".join(sorted(f"{partition.topic}:{partition.partition}" for partition in assigned))
    log.info("partitions assigned", generation=app.consumer_generation_id, partitions=partitions)
    if not app.is_ready:
        app.is_ready = True
        sys.stdout.write(f"{SAYS_READY}: {len(assigned)} partitions of topics are its own.\n")
        sys.stdout.flush()
