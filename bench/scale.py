"""Scale: what so many stories a day need, from the costs of this machine; checked by running several workers here.

The arithmetic: a story costs the workers, the broker and Postgres so much processor time each; all of it together fits the
cores that there are. One edition has one writer, so one process sets its limit.
"""

import math
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec
import psutil
import sqlalchemy as sa

from bench.figures import Figure, figure
from bench.news import week
from bench.services import fresh, process, produce, services, stored, wait_until
from pipeline.config import Settings
from pipeline.records import Story
from pipeline.storage.engine import create_engine

LANGUAGES = ("en", "de", "fr", "es")
CORES = 2
PEAK = 3.0
"""How much more comes in the busiest hour than on average."""
FULL = 0.7
"""Up to where a core is planned to be used."""
WINDOW_DAYS = 4
LARGEST_EDITION = 0.3
"""The share of all stories that the largest edition has."""


class Costs(NamedTuple):
    """What a story costs: microseconds of a core, and bytes."""

    worker: float
    broker: float
    postgres: float
    in_memory: float
    in_kafka: float
    in_postgres: float


class Needs(NamedTuple):
    """What so many stories a day need."""

    peak: float
    """stories a second"""
    cores: float
    workers: int
    window_gigabytes: float
    """of the stories that can be matched, over all workers"""
    largest_edition: float
    """stories a second at its peak; one worker must take them"""
    kafka_gigabytes: float
    """for the week that topics keep"""
    postgres_gigabytes: float
    """a year"""


def needs(stories_a_day: float, costs: Costs) -> Needs:
    """What that takes, at the peak."""
    peak = stories_a_day / 86_400 * PEAK
    micros = peak * (costs.worker + costs.broker + costs.postgres)
    return Needs(
        peak=peak,
        cores=micros / 1e6 / FULL,
        workers=max(1, math.ceil(peak * costs.worker / 1e6 / FULL)),
        window_gigabytes=stories_a_day * WINDOW_DAYS * costs.in_memory / 1e9,
        largest_edition=peak * LARGEST_EDITION,
        kafka_gigabytes=stories_a_day * 7 * costs.in_kafka / 1e9,
        postgres_gigabytes=stories_a_day * 365 * costs.in_postgres / 1e9,
    )


def figures(*, quick: bool) -> Iterable[Figure]:
    """The throughput of 1, 2 and 3 workers on 4 editions, against what the arithmetic says."""
    count = 4_000 if quick else 16_000
    stories = [
        msgspec.structs.replace(story, language=LANGUAGES[number % len(LANGUAGES)])
        for number, story in enumerate(week()[:count])
    ]
    costs: Costs | None = None
    with services() as (kafka, postgres):
        for workers in (1, 2, 3):
            with fresh(kafka, postgres, partitions=8) as settings:
                rate, measured = _run(settings, stories, workers)
            costs = costs or measured
            micros = costs.worker + costs.broker + costs.postgres
            predicted = min(workers / costs.worker, CORES / micros) * 1e6
            yield figure(
                f"scale: {workers} workers on {len(LANGUAGES)} editions", "the arithmetic of docs/scale.md",
                [rate], [predicted], "stories/s", rate / predicted, 0.7, at_most=False,
            )  # fmt: skip
    assert costs is not None
    print("Measured with one worker:", {name: round(value) for name, value in costs._asdict().items()})
    for day in (1e5, 2e6, 2e7, 2e9):
        print(
            f"{day:14,.0f} stories a day:",
            {name: round(value, 1) for name, value in needs(day, costs)._asdict().items()},
        )


def _run(settings: Settings, stories: Sequence[Story], workers: int) -> tuple[float, Costs]:
    """Stories a second with so many workers, and what a story cost."""
    look = stored(settings)
    with ExitStack() as stack:
        made = [stack.enter_context(process(settings)) for _ in range(workers)]
        produce(settings, stories[:200])
        wait_until(lambda: look() >= len(stories[:200]), made[0])  # all are up, and have their partitions
        time.sleep(3)
        produce(settings, stories[200:])
        before, resident, start = _processor(made), _memory(made), time.perf_counter()
        wait_until(lambda: look() >= len(stories), made[0])
        seconds = time.perf_counter() - start
        spent = [later - earlier for later, earlier in zip(_processor(made), before, strict=True)]
        grown = _memory(made) - resident
    count = len(stories) - 200
    worker, broker, database = (part / count * 1e6 for part in spent)
    kafka = sum(file.stat().st_size for file in _log_folder().glob(f"{settings.topic_prefix}*/*.log"))
    engine = create_engine(settings.postgres)
    with engine.connect() as connection:
        size = connection.execute(sa.text("SELECT pg_database_size(current_database())")).scalar_one()
    engine.dispose()
    costs = Costs(worker, broker, database, grown / count, kafka / len(stories), size / len(stories))
    return count / seconds, costs


def _processor(workers: Sequence[psutil.Process]) -> tuple[float, float, float]:
    """Seconds of processor that the workers, the broker and Postgres have used."""
    broker = database = 0.0
    for one in psutil.process_iter(["name", "cmdline", "cpu_times"]):
        used = one.info["cpu_times"]
        if used is None:
            continue
        if "kafka.Kafka" in (one.info["cmdline"] or []):
            broker += used.user + used.system
        elif "postgres" in (one.info["name"] or ""):
            database += used.user + used.system
    return sum(sum(worker.cpu_times()[:2]) for worker in workers), broker, database


def _memory(workers: Sequence[psutil.Process]) -> float:
    return float(sum(worker.memory_info().rss for worker in workers))


def _log_folder() -> Path:
    """Where the broker of this run keeps its logs."""
    for one in psutil.process_iter(["cmdline"]):
        for argument in one.info["cmdline"] or []:
            if argument.endswith("server.properties"):
                return Path(argument).parent / "logs"
    raise RuntimeError("No embedded Kafka runs.")
