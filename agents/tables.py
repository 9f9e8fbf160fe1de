"""The tables of the two stages that keep state: a row for each story, and one for its latest revision, in a compacted changelog.

A table is the truth from which the state of its partitions is built when a worker comes to own them:

    changelog --load--> rows --restore--> editions
    editions --stories--> rows, and what the stage has to say --one transaction--> changelog, topics

A partition has a transactional id, and whoever starts with it shuts out the one before, which may be frozen and not know that
it has lost the partition. So a transaction is committed only by a worker whose state holds all that was committed, and
rows and words are there together or not at all: a record that comes again finds its row, and brings nothing.

They are not Faust's tables. Recovery of those takes 75 us a row, holds the rows in memory beside what is built from them, loses
and repeats records, and a write inside a batch that raises does not say when it is safe.
"""

import asyncio
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import faust
import stamina
import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import ConsumerRecord

from agents.dead_letters import letter
from agents.metrics import count
from agents.outbox import Message, Outbox, Sender, may_pass
from pipeline.config import Settings
from pipeline.connection import connection
from pipeline.records import Record, decode
from pipeline.stages.lifetimes import Dropped
from pipeline.topics import LARGEST_MESSAGE, changelog
from pipeline.upgrade import HEADER, VERSION, upgraded

log = structlog.get_logger()

WRITTEN_BY = ((HEADER, str(VERSION).encode()),)

REVISION = b"\xff"
"""Begins the key of a row that revises a story; in UTF-8 no other key begins so."""
FAULTS = 10
"""Records of a batch that a stage may fail on."""
HEAD_START = 0.2
"""Seconds by which a table lets the one before it begin."""


R = TypeVar("R", bound=Record)
E = TypeVar("E")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Partition(Generic[E]):
    """A partition as its owner holds it: its editions, and the sender of its transactions."""

    number: int
    editions: dict[str, E]
    sender: Sender
    new_edition: Callable[[str], E]

    def edition(self, name: str) -> E:
        """The state of an edition."""
        if name not in self.editions:
            self.editions[name] = self.new_edition(name)
        return self.editions[name]


class StageTable(Generic[R, E]):
    """The editions of a stage, by partition of the topic `source` that it reads, and the changelog that they are built from.

    `place_of` says of an encoded row to which edition it belongs, and where in the order of rows; `restore` takes them in order.
    Of two tables, the one that is `after` the other lets it load first.
    """

    def __init__(
        self,
        app: faust.App,
        settings: Settings,
        stage: str,
        name: str,
        source: str,
        kind: type[R],
        place_of: Callable[[bytes], tuple[str, int]],
        new_edition: Callable[[str], E],
        restore: Callable[[E, Iterator[R]], None],
        after: "StageTable[Any, Any] | None" = None,
    ) -> None:
        self._app, self._settings = app, settings
        self._stage, self._name = stage, name
        self._topic, self._source = changelog(settings, name), settings.topic(source)
        self._kind, self._place_of, self._new_edition, self._restore = kind, place_of, new_edition, restore
        self._after = after
        self._owned: dict[int, Partition[E]] = {}
        self._generation = 0
        self.loading: set[int] = set()
        """partitions whose state is being built"""
        self._idle = asyncio.Event()
        self._idle.set()
        app.on_partitions_assigned.connect(self._keep_what_stays, weak=False)

    async def transact(
        self,
        number: int,
        records: list[ConsumerRecord],
        work: Callable[[Partition[E], Iterator[ConsumerRecord], Outbox], T],
    ) -> T | None:
        """Have `work` change the state of a partition by these records, and send what it has to say, all or nothing.

        Should that fail because the partition changed hands or the broker was away, it is done again from the rows that
        were committed, as long as nothing says that the partition is not ours any more. Returns what `work` does; None if it
        was given up. Raises what trying again cannot mend.

        A record on which `work` fails, which is a fault of ours, goes to the dead letters, and the others are worked on without
        it; more than FAULTS in a batch are raised: then it is not the records.
        """
        faults: Outbox = []
        generation = self._app.consumer_generation_id
        async for attempt in stamina.retry_context(on=may_pass, attempts=None, timeout=None, wait_max=5.0):
            with attempt:
                if generation != self._app.consumer_generation_id and attempt.num > 1:
                    return None
                while True:
                    partition = await self._load(number)
                    outbox: Outbox = [*faults]
                    read: list[ConsumerRecord] = []
                    try:
                        result = work(partition, _one_by_one(records, read), outbox)
                        break
                    except Exception as error:
                        await self._forget(partition)
                        if not read or len(faults) == FAULTS:
                            raise
                        log.exception("a stage failed on a record, which goes to the dead letters", stage=self._stage)
                        faults.append(letter(self._stage, read[-1], error))
                        records = [record for record in records if record is not read[-1]]
                try:
                    await partition.sender.send(outbox)
                except BaseException:
                    await self._forget(partition)  # it holds what may not be on the changelog
                    raise
                count(self._stage, {"dead": len(faults)})
                return result
        return None

    def row(self, number: int, story_id: str, row: bytes | None, *, revision: bool = False) -> Message:
        """The message that writes the encoded row of a story, or of its latest revision, or deletes it."""
        key = story_id.encode()
        return Message(self._topic, REVISION + key if revision else key, row, number, WRITTEN_BY)

    def drop(self, number: int, dropped: Dropped) -> Outbox:
        """The messages that delete what was dropped."""
        return [
            *(self.row(number, story_id, None) for story_id in dropped.rows),
            *(self.row(number, story_id, None, revision=True) for story_id in dropped.revised),
        ]

    async def close(self) -> None:
        """Give all partitions up."""
        await asyncio.gather(*map(self._forget, [*self._owned.values()]))

    async def _load(self, number: int) -> Partition[E]:
        """The partition: as it is held, or else from its changelog; again, if it changes hands meanwhile."""
        if number not in self._owned and self._after is not None:
            await self._after.lead()
        while number not in self._owned:
            generation = self._generation
            sender = Sender(self._settings, f"{self._topic}-{number}")
            self.loading.add(number)
            self._idle.clear()
            try:
                await sender.start()
                editions = await asyncio.to_thread(self._build, await self._read(number))
            except BaseException:
                await sender.close()
                raise
            finally:
                self.loading.discard(number)
                if not self.loading:
                    self._idle.set()
            if generation == self._generation:
                self._owned[number] = Partition(number, editions, sender, self._new_edition)
            else:
                await sender.close()
        return self._owned[number]

    async def lead(self) -> None:
        """Let this table load first, if it does or is about to: one processor builds both."""
        await asyncio.sleep(HEAD_START)
        await self._idle.wait()

    async def _forget(self, partition: Partition[E]) -> None:
        if self._owned.get(partition.number) is partition:
            del self._owned[partition.number]
        await partition.sender.close()

    async def _keep_what_stays(self, app: faust.App, assigned: set[Any], **_: Any) -> None:
        """Partitions that stay in the next generation keep their state; the others are free for whoever has them next."""
        generation = app.consumer_generation_id
        ours = {partition.partition for partition in assigned if partition.topic == self._source}
        stay = ours if generation == self._generation + 1 else set()
        self._generation = generation
        await asyncio.gather(*(self._forget(gone) for number, gone in [*self._owned.items()] if number not in stay))

    async def _read(self, partition: int) -> list[bytes]:
        """The rows of a partition's changelog."""
        consumer = AIOKafkaConsumer(
            **connection(self._settings),
            enable_auto_commit=False,
            isolation_level="read_committed",
            max_partition_fetch_bytes=int(LARGEST_MESSAGE),
        )
        try:
            await consumer.start()
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
                        version = next((int(value) for name, value in record.headers if name == HEADER), 1)
                        rows[record.key] = upgraded(self._name, record.value, version)
            if (consumer.highwater(of) or 0) > end:  # whoever had begun a transaction here was shut out before we read
                log.error(
                    "Kafka lost the end of a transaction: its messages come again. Kafka 4.1 to 4.3 do so when they crash; see "
                    "docs/decisions/0013-a-kafka-that-keeps-its-markers.md",
                    topic=self._topic,
                    partition=partition,
                )
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
        found: dict[str, list[tuple[int, bytes]]] = {}
        for row in rows:
            name, position = self._place_of(row)
            found.setdefault(name, []).append((position, row))
        rows.clear()
        editions = {name: self._new_edition(name) for name in found}
        for name, edition in editions.items():
            self._restore(edition, self._decoded(found.pop(name)))
        return editions

    def _decoded(self, rows: list[tuple[int, bytes]]) -> Iterator[R]:
        """The rows by position, decoded one by one: the bytes go as the records come."""
        rows.sort(reverse=True)
        while rows:
            _, row = rows.pop()
            yield decode(row, self._kind)


def _one_by_one(records: list[ConsumerRecord], read: list[ConsumerRecord]) -> Iterator[ConsumerRecord]:
    """The records, each noted in `read` as it is handed out."""
    for record in records:
        read.append(record)
        yield record
