"""Measure: what the worker's gauges say of its states, looked at every MEASURED_EVERY_S seconds."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import faust
import structlog
from aiokafka.errors import KafkaError

from agents.runtime.metrics import BUCKET_FILL, DEAD_LETTERS_WAITING, EVENTS, ROWS, STATE_BYTES, STREAM_TIME, preset
from agents.runtime.state import StateStore
from pipeline import __version__
from pipeline.config import Settings
from pipeline.kafka.admin import BrokerError
from pipeline.kafka.progress import GroupProgress
from pipeline.stages.cluster.measure import measure
from pipeline.stages.cluster.state import ClusterState
from pipeline.stages.detect.state import DetectState

MEASURED_EVERY_S = 10.0
COUNTED_EVERY_S = 20.0
"""How often the broker is asked for the number of dead letters."""
MICROSECONDS = 1e6

log = structlog.get_logger()


def keep_measuring(
    app: faust.App,
    settings: Settings,
    clustering: StateStore[Any, ClusterState],
    detection: StateStore[Any, DetectState],
) -> None:
    """Have the app measure as long as it runs."""
    preset(__version__)

    @app.timer(MEASURED_EVERY_S)  # type: ignore[untyped-decorator]
    async def look() -> None:
        measure_clustering(state for states in clustering.states().values() for state in states.values())
        measure_detection(
            (edition, state) for states in detection.states().values() for edition, state in states.items()
        )

    @app.timer(COUNTED_EVERY_S)  # type: ignore[untyped-decorator]
    async def ask() -> None:
        try:
            async with GroupProgress(settings) as progress:
                DEAD_LETTERS_WAITING.set(await progress.dead_letters())
        except (BrokerError, KafkaError) as error:
            log.info("dead letters cannot be counted", error=repr(error))


def measure_clustering(states: Iterable[ClusterState]) -> None:
    """Set the gauges of what the cluster stage holds."""
    sizes = [measure(state) for state in states]
    ROWS.labels("cluster", "stories").set(sum(size.stories for size in sizes))
    ROWS.labels("cluster", "clusters").set(sum(size.clusters for size in sizes))
    STATE_BYTES.set(sum(size.bytes for size in sizes))
    BUCKET_FILL.set(sum(size.filled for size in sizes) / max(1, sum(size.buckets for size in sizes)))


def measure_detection(states: Iterable[tuple[str, DetectState]]) -> None:
    """Set the gauges of what the detect stage holds, and of how far each edition is."""
    STREAM_TIME.clear()
    stories = clusters = 0
    events = Counter(active=0, ended=0, dismissed=0)
    for edition, state in states:
        STREAM_TIME.labels(edition).set(state.lifetimes.stream_time / MICROSECONDS)
        clusters += len(state.clusters)
        for counted in state.clusters.values():
            stories += len(counted.stories)
            for mark in counted.events:
                events["dismissed" if mark.dismissed else "active" if mark.active else "ended"] += 1
    ROWS.labels("detect", "stories").set(stories)
    ROWS.labels("detect", "clusters").set(clusters)
    for state_of_event, number in events.items():
        EVENTS.labels(state_of_event).set(number)
