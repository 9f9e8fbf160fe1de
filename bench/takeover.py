"""How long an edition stands still when its worker is killed: with a standby, and without."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise

from aiokafka import AIOKafkaConsumer

from bench.figures import Figure, absolute, figure
from bench.news import week
from bench.services import fresh, offsets, services
from pipeline.config import Settings
from pipeline.kafka.connection import connection
from pipeline.kafka.producer import StoryProducer
from pipeline.records import Story

RATE = 100
"""Stories a second."""
HELD = 10_000
"""Stories that the state holds when the first worker is killed."""
GAP_S = 2.0
SETTLE_S = 12
"""Seconds between two kills, in which a new worker starts and warms up."""
REPLACED_AFTER_S = 4
"""Seconds until another worker starts: on a machine of its own it would not take the survivor's processor."""
SESSION_S = 0.75


def figures(*, quick: bool) -> Iterable[Figure]:
    """The longest silence on `events` around each kill of the worker that owns the edition."""
    kills = 1 if quick else 3
    stories = week()[: HELD + RATE * (2 * SETTLE_S + REPLACED_AFTER_S) * (kills + 1)]
    gaps: dict[bool, list[float]] = {}
    with services() as (kafka, postgres):
        for standby in (True, False):
            with fresh(kafka, postgres) as settings:
                chosen = {"threshold": 1, "min_publishers": 1, "standby": standby}
                session = {"session_seconds": SESSION_S if standby else 6.0}
                of = settings.model_copy(update=chosen | session)
                gaps[standby] = asyncio.run(_gaps(of, stories, kills))
    at = f"{HELD:,} stories held, {RATE} stories/s"
    yield absolute(f"silence on `events` after a kill, {at}", f"{GAP_S:g} s", [max(gaps[True])], GAP_S, "s")
    ratio = sorted(gaps[True])[kills // 2] / sorted(gaps[False])[kills // 2]
    yield figure(
        f"silence on `events` with a standby, {at}",
        "without one",
        gaps[True],
        gaps[False],
        "s",
        ratio,
        0.5,
        at_most=True,
    )


async def _gaps(settings: Settings, stories: Sequence[Story], kills: int) -> list[float]:
    """The longest time between two updates around each kill."""
    came: list[float] = []
    workers = [_start(settings), _start(settings)]
    consumer = AIOKafkaConsumer(settings.topic("events"), **connection(settings), isolation_level="read_committed")
    await consumer.start()

    async def listen() -> None:
        async for _ in consumer:
            came.append(time.monotonic())  # noqa: PERF401 - one by one, as they come

    async def feed(producer: StoryProducer) -> None:
        begin = time.perf_counter()
        for number, story in enumerate(stories[HELD:]):
            await asyncio.sleep(max(0.0, begin + number / RATE - time.perf_counter()))
            await producer.send(story)

    found: list[float] = []
    try:
        async with StoryProducer(settings) as producer:
            for story in stories[:HELD]:
                await producer.send(story)
            await producer.flush()
            while await asyncio.to_thread(offsets, settings, "assignments") < HELD:  # noqa: ASYNC110 - the broker knows
                await asyncio.sleep(0.5)
            tasks = [asyncio.create_task(listen()), asyncio.create_task(feed(producer))]
            for _ in range(kills):
                await asyncio.sleep(SETTLE_S)
                killed = time.monotonic()
                victim = workers.pop(0)
                victim.kill()
                victim.wait()
                await asyncio.sleep(REPLACED_AFTER_S)
                workers.append(_start(settings))
                await asyncio.sleep(SETTLE_S)
                around = [at for at in came if killed - 1 <= at <= killed + REPLACED_AFTER_S + SETTLE_S]
                found.append(max(later - earlier for earlier, later in pairwise(around)))
                print(f"  {found[-1]:.2f} s", file=sys.stderr, flush=True)
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
    finally:
        await consumer.stop()
        for worker in workers:
            worker.kill()
            worker.wait()
    return found


def _start(settings: Settings) -> subprocess.Popen[bytes]:
    with (settings.data / "worker.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "agents.worker"],
            env={**os.environ, **settings.environment()},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
