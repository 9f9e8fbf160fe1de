"""End to end, on real Kafka and Postgres: throughput against plain loops, latency, and restarts."""

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from agents.runtime.producer import Message, PackedProducer
from bench.figures import Figure, absolute, compare
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
MEDIAN, WORST = 150.0, 1_000.0
"""Milliseconds that half of the updates, and 99 of 100, may take."""
PLAIN = ("bench.plain",)
PARTITION = 0


def figures(*, quick: bool) -> Iterable[Figure]:
    """Throughput, latency, restart."""
    stories = week()[: 8_000 if quick else None]
    rounds = 1 if quick else 5
    with services() as (kafka, postgres):
        rates: list[float] = []

        def ours() -> float:
            with fresh(kafka, postgres) as settings:
                rates.append(_throughput(settings, stories))
                return rates[-1]

        def theirs() -> float:
            with fresh(kafka, postgres) as settings:
                return _throughput(settings, stories, PLAIN)

        yield compare(
            "end to end, stories topic to rows in Postgres",
            "the same as plain aiokafka loops",
            ours,
            theirs,
            unit="stories/s",
            target=0.5,
            rounds=rounds,
            at_most=False,
        )
        yield absolute("end to end", "2,000 a second", rates, STORIES_A_SECOND, "stories/s", at_most=False)
        with fresh(kafka, postgres) as settings:
            delays = sorted(asyncio.run(_latency(settings, week(), 10 if quick else 60)))
            yield absolute(f"latency at {RATE} stories/s, median", "150 ms", [delays[len(delays) // 2]], MEDIAN, "ms")
            yield absolute(
                f"latency at {RATE} stories/s, 99 of 100", "1 s", [delays[len(delays) * 99 // 100]], WORST, "ms"
            )
        with fresh(kafka, postgres, partitions=1) as settings:
            count = 10_000 if quick else 1_000_000
            asyncio.run(_fill(settings, count))
            yield compare(
                f"restart with {count:,} stories in the window, to the first new assignment",
                "reading the same changelogs with bare aiokafka",
                lambda: _restart(settings, count),
                lambda: asyncio.run(_read_changelogs(settings)),
                unit="s",
                target=3.0,
                rounds=1,
            )


def _throughput(settings: Settings, stories: list[Story], module: tuple[str, ...] = WORKER) -> float:
    """Stories a second from the first one normalised to the last one in Postgres."""
    produce(settings, stories)
    with process(settings, module) as worker:
        look = stored(settings)
        wait_until(lambda: offsets(settings, "normalised") > 0, worker, 0.01)
        start = time.perf_counter()
        wait_until(lambda: look() >= len(stories), worker)
        return len(stories) / (time.perf_counter() - start)


async def _latency(settings: Settings, stories: list[Story], seconds: int) -> list[float]:
    """Milliseconds from the broker taking in a story to the update that it caused coming to a consumer of `events`."""
    delays: list[float] = []
    measured = {story.id for story in stories[2_000 : 2_000 + RATE * seconds]}
    consumer = AIOKafkaConsumer(settings.topic("events"), **connection(settings), auto_offset_reset="latest")
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
    sender = PackedProducer(settings)
    messages: list[Message] = []
    tables = changelog(settings, "clustering"), changelog(settings, "detection")
    for step in replay(fingerprints(many(count), RECEIVED)):
        row = msgspec.structs.replace(step.assignment, position=step.assignment.position - count)
        key = row.story.id.encode()
        messages.append(Message(tables[0], key, encode(row), PARTITION))
        messages.append(Message(tables[1], key, encode(Detection(assignment=row)), PARTITION))
        if len(messages) >= 1_000:
            await sender.send(messages)
            messages.clear()
    await sender.send(messages)
    await sender.close()


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


def _restart(settings: Settings, count: int) -> float:
    """Seconds from the start of a worker to the first assignment that it makes."""
    produce(settings, list(many(count + 1))[-1:])
    start = time.perf_counter()
    with process(settings) as worker:
        wait_until(lambda: offsets(settings, "assignments") > 0, worker)
        return time.perf_counter() - start
