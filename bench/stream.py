"""End to end, on real Kafka and Postgres: throughput against plain loops, latency, and restarts."""

import asyncio
import statistics
import time
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from agents.runtime.producer import Message, PackedProducer
from bench.figures import Figure, absolute, compare, figure
from bench.news import RECEIVED, many, week
from bench.services import WORKER, fresh, offsets, process, produce, services, stored, wait_until
from pipeline.codec import decode, encode
from pipeline.config import Settings
from pipeline.kafka.connection import connection
from pipeline.kafka.producer import StoryProducer
from pipeline.kafka.topics import changelog
from pipeline.records import Detection, EventUpdate, Story
from pipeline.replay import fingerprints, replay

STORIES_A_SECOND = 2_000
RATE = 200
"""Stories a second at which latency is measured."""
MEDIAN_MS, WORST_MS = 150.0, 1_000.0
"""What half of the updates, and 99 of 100, may take."""
PLAIN = ("bench.plain",)
PARTITION = 0


def figures(*, quick: bool) -> Iterable[Figure]:
    """Throughput and what it costs, latency, restart."""
    with services() as (kafka, postgres):
        yield from _throughput(kafka, postgres, week()[: 6_000 if quick else None], 1 if quick else 5)
        yield from _latencies(kafka, postgres, 10 if quick else 40, 1 if quick else 3)
        with fresh(kafka, postgres, partitions=1) as settings:
            count, rounds = (10_000, 1) if quick else (1_000_000, 3)
            asyncio.run(_fill(settings, count))
            later = islice(many(count + rounds), count, None)
            yield compare(
                f"restart with {count:,} stories in the window, to the first new assignment",
                "reading the same changelogs with bare aiokafka",
                lambda: _restart(settings, next(later)),
                lambda: asyncio.run(_read_changelogs(settings)),
                unit="s",
                target=40.0 if quick else 3.0,  # with few stories it is the start of the process that counts
                rounds=rounds,
            )


def _throughput(kafka: str, postgres: str, stories: list[Story], rounds: int) -> Iterable[Figure]:
    """Stories a second, and processor time a story, beside plain loops."""
    runs: dict[tuple[str, ...], list[Run]] = {WORKER: [], PLAIN: []}

    def rate(module: tuple[str, ...]) -> float:
        with fresh(kafka, postgres) as settings:
            runs[module].append(_run(settings, stories, module))
            return runs[module][-1].rate

    yield compare(
        "end to end, stories topic to rows in Postgres",
        "the same as plain aiokafka loops",
        lambda: rate(WORKER),
        lambda: rate(PLAIN),
        unit="stories/s",
        target=0.95,
        rounds=rounds,
        at_most=False,
    )
    ours, theirs = ([run.processor_us for run in runs[module]] for module in (WORKER, PLAIN))
    yield figure(
        "end to end, processor time of the worker",
        "of the plain loops",
        ours,
        theirs,
        "us a story",
        statistics.median(ours) / statistics.median(theirs),
        1.25,
        at_most=True,
    )
    rates = [run.rate for run in runs[WORKER]]
    yield absolute("end to end", "2,000 a second", rates, STORIES_A_SECOND, "stories/s", at_most=False)


class Run(NamedTuple):
    """A run over a backlog."""

    rate: float
    """stories a second"""
    processor_us: float
    """processor time of the process for each"""


def _run(settings: Settings, stories: list[Story], module: tuple[str, ...]) -> Run:
    """From the first story that is normalised to the last one in Postgres."""
    produce(settings, stories)
    with process(settings, module) as worker:
        look = stored(settings)
        wait_until(lambda: offsets(settings, "normalised") > 0, worker, 0.01)
        start, used = time.perf_counter(), sum(worker.cpu_times()[:2])
        wait_until(lambda: look() >= len(stories), worker)
        took, used = time.perf_counter() - start, sum(worker.cpu_times()[:2]) - used
        return Run(len(stories) / took, used / len(stories) * 1e6)


def _latencies(kafka: str, postgres: str, seconds: int, rounds: int) -> Iterable[Figure]:
    medians, worst = [], []
    for _ in range(rounds):
        with fresh(kafka, postgres) as settings:
            delays = sorted(asyncio.run(_latency(settings, week(), seconds)))
        medians.append(delays[len(delays) // 2])
        worst.append(delays[len(delays) * 99 // 100])
    at = f"latency at {RATE} stories/s, read committed"
    yield absolute(f"{at}, median", "150 ms", medians, MEDIAN_MS, "ms")
    yield absolute(f"{at}, 99 of 100", "1 s", worst, WORST_MS, "ms")


async def _latency(settings: Settings, stories: list[Story], seconds: int) -> list[float]:
    """Milliseconds from the broker taking in a story to the update that it caused coming to a consumer of `events`."""
    delays: list[float] = []
    measured = {story.id for story in stories[2_000 : 2_000 + RATE * seconds]}
    consumer = AIOKafkaConsumer(
        settings.topic("events"), **connection(settings), auto_offset_reset="latest", isolation_level="read_committed"
    )
    await consumer.start()
    await consumer.seek_to_end()

    async def listen() -> None:
        async for record in consumer:
            update = decode(record.value, EventUpdate)
            if update.caused_by in measured:
                delays.append(time.time() * 1_000 - update.caused_by_received_at.timestamp() * 1_000)

    with process(settings) as worker:
        async with StoryProducer(settings) as producer:
            for story in stories[:2_000]:
                await producer.send(story)
            await producer.flush()
            look = stored(settings)
            await asyncio.to_thread(wait_until, lambda: look() >= 2_000, worker)
            listening = asyncio.create_task(listen())
            start = time.perf_counter()
            for number, story in enumerate(stories[2_000 : 2_000 + RATE * seconds]):
                await asyncio.sleep(max(0.0, start + number / RATE - time.perf_counter()))
                await producer.send(story)
            await asyncio.sleep(3)
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening
            await consumer.stop()
    return delays


async def _fill(settings: Settings, count: int) -> None:
    """Put the rows of so many stories on the changelogs, as a worker would have left them, from positions below 0."""
    producer = PackedProducer(settings)
    messages: list[Message] = []
    logs = changelog(settings, "clustering"), changelog(settings, "detection")
    for step in replay(fingerprints(many(count), RECEIVED)):
        row = msgspec.structs.replace(step.assignment, position=step.assignment.position - count)
        key = row.story.id.encode()
        messages.append(Message(logs[0], key, encode(row), PARTITION))
        messages.append(Message(logs[1], key, encode(Detection(assignment=row)), PARTITION))
        if len(messages) >= 1_000:
            await producer.send(messages)
            messages.clear()
    await producer.send(messages)
    await producer.close()


async def _read_changelogs(settings: Settings) -> float:
    """Seconds that bare aiokafka takes to read all rows."""
    start = time.perf_counter()
    consumer = AIOKafkaConsumer(**connection(settings), enable_auto_commit=False)
    await consumer.start()
    partitions = [TopicPartition(changelog(settings, table), PARTITION) for table in ("clustering", "detection")]
    consumer.assign(partitions)
    await consumer.seek_to_beginning(*partitions)
    ends = await consumer.end_offsets(partitions)
    rows: dict[bytes, bytes] = {}
    while any([await consumer.position(partition) < ends[partition] for partition in partitions]):
        for batch in (await consumer.getmany(timeout_ms=500)).values():
            rows.update((record.key, record.value) for record in batch)
    await consumer.stop()
    assert rows
    return time.perf_counter() - start


def _restart(settings: Settings, story: Story) -> float:
    """Seconds from the start of a worker to the assignment that it makes of a new story."""
    produce(settings, [story])
    before = offsets(settings, "assignments")
    start = time.perf_counter()
    with process(settings) as worker:
        wait_until(lambda: offsets(settings, "assignments") > before, worker)
        return time.perf_counter() - start
