"""The peer of the end-to-end benchmark: the same stages, sketches, rows and writes as plain aiokafka loops, without Faust.

python -m bench.plain, with the settings of a worker in its environment. No rebalancing, no recovery: what is left when all that
Faust is there for is taken away.
"""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any

from aiokafka import AIOKafkaConsumer

from agents.runtime.producer import Message, PackedProducer
from agents.transport.consumer import FETCH_WAIT_MS
from agents.worker import GC_THRESHOLDS
from pipeline.codec import decode, encode
from pipeline.config import Settings, load
from pipeline.kafka.topics import changelog
from pipeline.languages.background import background
from pipeline.records import Assignment, Cluster, EventUpdate, Fingerprint, NormalisedStory, Record, Story
from pipeline.stages.cluster.stage import cluster
from pipeline.stages.cluster.state import ClusterState
from pipeline.stages.detect.stage import detect
from pipeline.stages.detect.state import DetectState
from pipeline.stages.fingerprint import fingerprint
from pipeline.stages.normalise import normalise
from pipeline.storage.write import Writer
from pipeline.times import from_millis
from pipeline.warm_up import warm_up

BATCH = 2_000
"""Records a fetch: with 500 these loops are a third slower, with more no faster."""
Handle = Callable[[list[Any]], Awaitable[None]]


async def loop(settings: Settings, stage: str, topics: list[str], handle: Handle) -> None:
    """Read, handle, commit, for ever."""
    consumer = AIOKafkaConsumer(
        *map(settings.topic, topics),
        bootstrap_servers=settings.kafka,
        group_id=f"{settings.topic_prefix}-{stage}",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=FETCH_WAIT_MS,
    )
    await consumer.start()
    while True:
        batches = await consumer.getmany(timeout_ms=100, max_records=BATCH)
        records = [record for batch in batches.values() for record in batch]
        if records:
            await handle(records)
            await consumer.commit()


async def main() -> None:
    """All five loops in one process."""
    settings = load()
    warm_up(settings.cluster_rule(), settings.detect_rule(), settings.score_weights())
    sender, writer = PackedProducer(settings), Writer(settings.postgres)
    cluster_states: dict[str, ClusterState] = {}
    detect_states: dict[str, DetectState] = {}
    rows: dict[bytes, bytes] = {}

    def row(table: str, story_id: str, value: bytes | None, partition: int) -> Message:
        key = story_id.encode()
        if value is not None:
            rows[key] = value
        return Message(changelog(settings, table), key, value, partition)

    async def normalised(records: list[Any]) -> None:
        made = [
            (
                normalise(decode(record.value, Story), from_millis(record.timestamp), settings.normalise_rule()),
                record.partition,
            )
            for record in records
        ]
        topic = settings.topic("normalised")
        await sender.send([Message(topic, one.id.encode(), encode(one), partition) for one, partition in made])

    async def fingerprinted(records: list[Any]) -> None:
        made = [fingerprint(decode(record.value, NormalisedStory)) for record in records]
        await sender.send(
            [Message(settings.topic("fingerprints"), one.story.edition.encode(), encode(one)) for one in made]
        )

    async def clustered(records: list[Any]) -> None:
        messages: list[Message] = []
        latest: dict[str, Cluster] = {}
        for record in records:
            one = decode(record.value, Fingerprint)
            name = one.story.edition
            if name not in cluster_states:
                cluster_states[name] = ClusterState(background(name), settings.cluster_rule(), settings.score_weights())
            outcome = cluster(cluster_states[name], one, record.offset)
            if outcome is None:
                continue
            value = encode(outcome.assignment)
            messages.append(row("clustering", one.story.id, value, record.partition))
            messages.append(Message(settings.topic("assignments"), one.story.id.encode(), value, record.partition))
            latest |= {state.id: state for state in outcome.clusters}
        partition = records[0].partition
        topic = settings.topic("clusters")
        messages += [Message(topic, state.id.encode(), encode(state), partition) for state in latest.values()]
        await sender.send(messages)

    async def detected(records: list[Any]) -> None:
        messages: list[Message] = []
        for record in records:
            one = decode(record.value, Assignment)
            name = one.story.edition
            if name not in detect_states:
                detect_states[name] = DetectState(settings.detect_rule(), settings.score_weights())
            outcome = detect(detect_states[name], one)
            if outcome is None:
                continue
            messages.append(row("detection", one.story.id, encode(outcome.row), record.partition))
            topic = settings.topic("events")
            messages += [Message(topic, update.event_id.encode(), encode(update)) for update in outcome.updates]
        await sender.send(messages)

    kinds: dict[str, type[Record]] = {
        settings.topic("assignments"): Assignment,
        settings.topic("clusters"): Cluster,
        settings.topic("events"): EventUpdate,
    }

    async def stored(records: list[Any]) -> None:
        await asyncio.to_thread(writer.write, [decode(record.value, kinds[record.topic]) for record in records])

    await asyncio.gather(
        loop(settings, "normalise", ["stories"], normalised),
        loop(settings, "fingerprint", ["normalised"], fingerprinted),
        loop(settings, "cluster", ["fingerprints"], clustered),
        loop(settings, "detect", ["assignments"], detected),
        loop(settings, "store", ["assignments", "clusters", "events"], stored),
    )


if __name__ == "__main__":
    gc.set_threshold(*GC_THRESHOLDS)
    asyncio.run(main())
