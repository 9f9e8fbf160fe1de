"""The Faust app, made from settings: what the worker runs."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any

import faust
import structlog
from aiokafka.errors import KafkaError
from faust.types import TP
from mode import CrashingSupervisor

from agents import amend, cluster, detect, fingerprint, normalise, store
from agents.measure import keep_measuring
from agents.runtime.health import serve, watch
from agents.runtime.log_end import LogEnd
from agents.runtime.producer import PackedProducer
from agents.runtime.spans import create_traces
from agents.runtime.standby import Standby
from agents.runtime.state import StateStore
from agents.runtime.ticks import keep_ticking
from agents.transport.chunks import WAITING_CHUNKS, ChunkScheduler
from agents.transport.consumer import Transport, stop_flow_before_seek
from pipeline.config import Settings
from pipeline.embedded.processes import SAYS_READY
from pipeline.kafka.admin import BrokerError, admin
from pipeline.kafka.changelogs import StateError, wrong_state
from pipeline.kafka.connection import tls
from pipeline.logs import announce

log = structlog.get_logger()

HEARTBEATS = 4
"""Heartbeats in a session: the group takes a worker for dead when none has come."""
WARM_S = 120.0
"""Seconds that a worker with a standby waits for its states before it joins the group."""
GLANCE_S = 15.0
"""Seconds that a worker which starts gives Kafka to tell the rule of the state."""
RETRY_S = 5.0
"""Seconds after which a worker that waits for the broker looks for it again."""


class App(faust.App):  # type: ignore[misc]
    """A Faust app with connections of our own."""

    closing: Sequence[Callable[[], Awaitable[None]]] = ()
    may_work: Callable[[], Awaitable[None]]
    """returns if the broker answers and the state is of our rule; raises BrokerError, or StateError"""
    standbys: Sequence[Standby[Any, Any]] = ()
    is_ready = False
    traces: Any = None
    """what makes spans, if there are to be any"""

    async def on_start(self) -> None:
        """Wait for the broker: a worker that starts while it is away works when it is back."""
        while not self.should_stop:
            try:
                await self.may_work()
                break
            except BrokerError as error:
                log.warning("waiting for Kafka", error=str(error))
                await self.sleep(RETRY_S)
        for standby in self.standbys:
            self.add_future(standby.keep())
        for standby in self.standbys:  # who joins the group may be given any partition, and has its state then
            await standby.complete(WARM_S)
        await super().on_start()

    def _new_transport(self) -> Transport:
        return Transport(self.conf.broker_consumer, self)

    def _create_directories(self) -> None:
        """None: Faust would make folders for its tables in the working folder, where a container may not write."""

    async def on_stop(self) -> None:
        """Close them, last of all."""
        await super().on_stop()
        await asyncio.gather(*(close() for close in self.closing))


def create_app(settings: Settings) -> App:
    """The app with its six agents."""
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
        stream_buffer_maxsize=WAITING_CHUNKS,
        agent_supervisor=CrashingSupervisor,  # Faust would restart a failing agent for ever, in silence
        broker_commit_interval=1.0,
        broker_session_timeout=settings.session_seconds,
        broker_heartbeat_interval=settings.session_seconds / HEARTBEATS,
        consumer_auto_offset_reset="earliest",
    )
    app.traces = create_traces(settings)
    app.may_work = partial(_may_work, settings)
    app.on_rebalance_complete.connect(stop_flow_before_seek, weak=False)
    producer, log_end = PackedProducer(settings), LogEnd(settings)
    for stage in (normalise, fingerprint, store, amend):
        stage.declare(app, settings, producer)
    clustering = cluster.declare(app, settings, log_end)
    detection = detect.declare(app, settings, log_end, after=clustering)
    states: list[StateStore[Any, Any]] = [clustering, detection]

    @app.task  # type: ignore[untyped-decorator]
    async def ticks() -> None:
        await keep_ticking(settings, producer, lambda: _living(clustering))

    app.standbys = [state.standby for state in states if state.standby is not None]
    app.closing = [
        producer.close,
        log_end.close,
        *(state.close for state in states),
        *([app.traces.close] if app.traces is not None else []),
    ]
    if settings.metrics_port:
        keep_measuring(app, settings, clustering, detection)
        serve(watch(app, settings, states), settings.metrics_host, settings.metrics_port)
    app.on_partitions_assigned.connect(partial(_say_what_is_assigned, settings), weak=False)
    return app


async def _may_work(settings: Settings) -> None:
    """Raises StateError before any record is read: normalise, too, decides by the rule, and asks nobody.

    Where Kafka cannot tell now, because a broker is lost, the check when a partition is loaded has to do.
    """
    async with admin(settings):
        pass
    try:
        async with asyncio.timeout(GLANCE_S):
            wrong = await wrong_state(settings)
    except (KafkaError, TimeoutError) as error:
        log.warning("the rule of the state cannot be read yet", error=repr(error))
        return
    for sentence in wrong:
        raise StateError(sentence)


def _living(clustering: StateStore[Any, Any]) -> Iterator[tuple[int, str]]:
    """The editions that have clusters, each with its partition."""
    for number, states in clustering.states().items():
        for edition, state in states.items():
            if state.clusters:
                yield number, edition


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


async def _say_what_is_assigned(settings: Settings, app: App, assigned: set[TP], **_: Any) -> None:
    partitions = " ".join(sorted(f"{partition.topic}:{partition.partition}" for partition in assigned))
    log.info("partitions assigned", generation=app.consumer_generation_id, partitions=partitions)
    if not app.is_ready:
        app.is_ready = True
        announce(settings, f"{SAYS_READY}: {len(assigned)} partitions of topics are its own.")
