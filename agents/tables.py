"""The tables of the two stages that keep state: one row a story, in a compacted changelog.

A table is the truth from which the state of its partitions is built when a worker comes to own them:

    changelog --load--> rows --restore--> editions
    editions --one story--> row --> changelog, before anything is acknowledged

They are not Faust's tables. Recovery of those takes 75 us a row, holds the rows in memory beside what is built from them, loses
and repeats records, and a write inside a batch that raises does not say when it is safe.
"""

import asyncio
import gc
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import faust
from aiokafka import AIOKafkaConsumer, TopicPartition

from agents.outbox import Message, Outbox
from pipeline.config import Settings
from pipeline.languages.background import background
from pipeline.records import Assignment, Detection, Record, decode
from pipeline.stages import clustering, counting
from pipeline.stages.lifetimes import Dropped
from pipeline.topics import LARGEST_MESSAGE, changelog

R = TypeVar("R", bound=Record)
E = TypeVar("E")


class StageTable(Generic[R, E]):
    """The editions of a stage, by partition of the topic `source` that it reads, and the changelog that they are built from."""

    def __init__(
        self,
        app: faust.App,
        settings: Settings,
        name: str,
        source: str,
        kind: type[R],
        edition_of: Callable[[R], str],
        new_edition: Callable[[str], E],
        restore: Callable[[E, list[R]], None],
    ) -> None:
        self._kafka, self._topic, self._source = settings.kafka, changelog(settings, name), settings.topic(source)
        self._kind, self._edition_of, self._new_edition, self._restore = kind, edition_of, new_edition, restore
        self._editions: dict[int, dict[str, E]] = {}
        self._generation = 0
        self._dropped: list[tuple[int, Dropped]] = []
        app.on_partitions_assigned.connect(self._keep_what_stays, weak=False)

    def edition(self, partition: int, name: str) -> E:
        """The state of an edition of a partition that is loaded."""
        editions = self._editions[partition]
        if name not in editions:
            editions[name] = self._new_edition(name)
        return editions[name]

    async def load(self, partitions: set[int]) -> None:
        """Make sure that the state of these partitions is here; again, if they change hands meanwhile."""
        for partition in sorted(partitions):
            while partition not in self._editions:
                generation = self._generation
                loaded = await asyncio.to_thread(self._build, await self._read(partition))
                if generation == self._generation:
                    self._editions[partition] = loaded

    def put(self, outbox: Outbox, partition: int, story_id: str, row: bytes) -> None:
        """Write an encoded row."""
        outbox.add(Message(self._topic, story_id.encode(), row, partition))

    def drop(self, partition: int, dropped: Dropped) -> None:
        """Have this deleted when what was sent is safe."""
        if dropped.rows:
            self._dropped.append((partition, dropped))

    async def settle(self, outbox: Outbox, clusters_topic: str | None = None) -> None:
        """Wait until all that was sent is safe, then delete what was dropped; clusters with a tombstone on their topic.

        In this order, because a story that is delivered again after a crash is answered from its row: the row may go only
        when that answer has been heard.
        """
        await outbox.settle()
        dropped, self._dropped = self._dropped, []
        if clusters_topic is not None:
            for partition, dead in dropped:
                for cluster_id in dead.clusters:
                    outbox.add(Message(clusters_topic, cluster_id.encode(), None, partition))
            await outbox.settle()
        for partition, dead in dropped:
            for story_id in dead.rows:
                outbox.add(Message(self._topic, story_id.encode(), None, partition))
        await outbox.settle()

    async def _keep_what_stays(self, app: faust.App, assigned: set[Any], **_: Any) -> None:
        """Partitions that stay in the next generation keep their state: nobody else can have written."""
        generation = app.consumer_generation_id
        ours = {partition.partition for partition in assigned if partition.topic == self._source}
        stay = ours if generation == self._generation + 1 else set()
        self._editions = {partition: state for partition, state in self._editions.items() if partition in stay}
        self._generation = generation

    async def _read(self, partition: int) -> list[bytes]:
        """The rows of a partition's changelog."""
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self._kafka,
            enable_auto_commit=False,
            max_partition_fetch_bytes=int(LARGEST_MESSAGE),
        )
        await consumer.start()
        try:
            of = TopicPartition(self._topic, partition)
            consumer.assign([of])
            await consumer.seek_to_beginning(of)
            end = (await consumer.end_offsets([of]))[of]
            rows: dict[bytes, bytes] = {}
            while await consumer.position(of) < end:
                for record in (await consumer.getmany(of, timeout_ms=500)).get(of, []):
                    if record.value is None:
                        rows.pop(record.key, None)
                    else:
                        rows[record.key] = record.value
            return list(rows.values())
        finally:
            await consumer.stop()

    def _build(self, rows: list[bytes]) -> dict[str, E]:
        """The editions that these rows make."""
        gc.disable()  # rows are no garbage: to look for it among them, again and again as they come, takes a third of the time
        try:
            return self._restored(rows)
        finally:
            gc.freeze()
            gc.enable()

    def _restored(self, rows: list[bytes]) -> dict[str, E]:
        found: dict[str, list[R]] = {}
        while rows:  # the bytes go as the records come
            row = decode(rows.pop(), self._kind)
            found.setdefault(self._edition_of(row), []).append(row)
        editions = {name: self._new_edition(name) for name in found}
        for name, edition in editions.items():
            self._restore(edition, found.pop(name))
        return editions


def clustering_table(app: faust.App, settings: Settings) -> StageTable[Assignment, clustering.Edition]:
    """The table of the cluster stage."""
    rule, weights = settings.cluster_rule(), settings.score_weights()
    return StageTable(
        app,
        settings,
        "clustering",
        "fingerprints",
        Assignment,
        lambda row: row.story.edition,
        lambda name: clustering.Edition(background(name), rule, weights),
        clustering.restore,
    )


def detection_table(app: faust.App, settings: Settings) -> StageTable[Detection, counting.Edition]:
    """The table of the detect stage."""
    rule, weights = settings.detect_rule(), settings.score_weights()
    return StageTable(
        app,
        settings,
        "detection",
        "assignments",
        Detection,
        lambda row: row.assignment.story.edition,
        lambda _: counting.Edition(rule, weights),
        counting.restore,
    )
