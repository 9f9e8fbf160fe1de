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
from operator import itemgetter
from typing import Any, Generic, TypeVar

import faust
import msgspec
import stamina
import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import ConsumerRecord

from agents.budget import budget
from agents.dead_letters import letter
from agents.metrics import count
from agents.outbox import Message, Outbox, Sender, may_pass
from pipeline.changelogs import LOG, REVISION, RULE, TIME, Rows, check_log, check_rule, read_rows
from pipeline.config import Settings
from pipeline.connection import connection
from pipeline.records import Record, StreamTime, decode
from pipeline.stages.lifetimes import Dropped
from pipeline.topics import changelog
from pipeline.upgrade import HEADER, VERSION

log = structlog.get_logger()

WRITTEN_BY = ((HEADER, str(VERSION).encode()),)

FAULTS = 10
"""Records that a stage may fail on without any that it can work on."""
BUDGET = 10.0
"""Seconds of the processor that a record may take."""
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
    begin: Outbox
    """what its next transaction begins with: the rule, if the rows do not say it yet"""

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
        restore: Callable[[E, Iterator[R | StreamTime]], None],
        after: "StageTable[Any, Any] | None" = None,
    ) -> None:
        self._app, self._settings = app, settings
        self._stage, self._name = stage, name
        self._topic, self._source = changelog(settings, name), settings.topic(source)
        self._kind, self._place_of, self._new_edition, self._restore = kind, place_of, new_edition, restore
        self._after = after
        self._owned: dict[int, Partition[E]] = {}
        self._generation = 0
        self._ends: AIOKafkaConsumer | None = None
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

        A record on which `work` fails, which is a fault of ours, or takes longer than BUDGET, goes to the dead letters, and the
        others are worked on without it; when more than FAULTS are all there is, the last error is raised.
        """
        faults: Outbox = []
        generation = self._app.consumer_generation_id
        async for attempt in stamina.retry_context(on=may_pass, attempts=None, timeout=None, wait_max=5.0):
            with attempt:
                if generation != self._app.consumer_generation_id and attempt.num > 1:
                    return None
                while True:
                    partition = await self._load(number)
                    outbox: Outbox = [*partition.begin, *faults]
                    read: list[ConsumerRecord] = []
                    try:
                        with budget(BUDGET) as begin_next:
                            result = work(partition, _one_by_one(records, read, begin_next), outbox)
                        break
                    except Exception as error:
                        await self._forget(partition)
                        if not read or isinstance(error, MemoryError | OSError):  # it is not the record
                            raise
                        if len(faults) >= FAULTS and len(records) == 1:  # all failed: it is not the records
                            raise
                        log.exception("a stage failed on a record, which goes to the dead letters", stage=self._stage)
                        faults.append(letter(self._stage, read[-1], error))
                        records = [record for record in records if record is not read[-1]]
                try:
                    await partition.sender.send(outbox)
                    partition.begin.clear()
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

    def _rule(self, number: int) -> Message:
        """The message that says by which rule the rows of a partition are made."""
        return Message(self._topic, RULE, msgspec.json.encode(self._settings.rule()), number, WRITTEN_BY)

    def time(self, number: int, edition: str, row: bytes) -> Message:
        """The message that writes the stream time of an edition."""
        return Message(self._topic, TIME + edition.encode(), row, number, WRITTEN_BY)

    async def end_of_log(self, number: int) -> int:
        """The end of the log that positions count in: the partition of `fingerprints`. Waits while the broker is away."""
        of = TopicPartition(self._settings.topic(LOG), number)
        async for attempt in stamina.retry_context(on=may_pass, attempts=None, timeout=None, wait_max=5.0):
            with attempt:
                if self._ends is None:
                    consumer = AIOKafkaConsumer(**connection(self._settings), enable_auto_commit=False)
                    try:
                        await consumer.start()
                    except BaseException:
                        await consumer.stop()
                        raise
                    self._ends = consumer
                return int((await self._ends.end_offsets([of]))[of])
        raise AssertionError  # it is tried until it succeeds or raises

    def drop(self, number: int, dropped: Dropped) -> Outbox:
        """The messages that delete what was dropped."""
        if not dropped.rows:
            return []
        return [
            *(self.row(number, story_id, None) for story_id in dropped.rows),
            *(self.row(number, story_id, None, revision=True) for story_id in dropped.revised),
        ]

    async def close(self) -> None:
        """Give all partitions up."""
        if self._ends is not None:
            await self._ends.stop()
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
                rows = await self._read(number)
                if rows.transaction_open:  # though whoever had begun one was shut out when our sender started
                    log.error(
                        "Kafka lost the end of a transaction: its messages come again. Kafka 4.1 to 4.3 do so when they crash; "
                        "see docs/decisions/0013-a-kafka-that-keeps-its-markers.md",
                        topic=self._topic,
                        partition=number,
                    )
                check_rule(rows.rule or {}, self._settings.rule())
                begin = [self._rule(number)] if rows.rule is None else []
                editions, newest = await asyncio.to_thread(self._build, rows)
                check_log(self._name, number, newest, await self.end_of_log(number))
            except BaseException:
                await sender.close()
                raise
            finally:
                self.loading.discard(number)
                if not self.loading:
                    self._idle.set()
            if generation == self._generation:
                self._owned[number] = Partition(number, editions, sender, self._new_edition, begin)
            else:
                await sender.close()
        return self._owned[number]

    def held(self) -> dict[int, dict[str, E]]:
        """The editions of the partitions that are owned and loaded."""
        return {number: partition.editions for number, partition in self._owned.items()}

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

    async def _read(self, number: int) -> Rows:
        return await read_rows(self._settings, self._name, number)

    def _build(self, rows: Rows) -> tuple[dict[str, E], int]:
        """The editions that these rows make, and the largest of their positions."""
        gc.disable()  # rows are no garbage: to look for it among them, again and again as they come, takes a third of the time
        try:
            return self._restored(rows)
        finally:
            gc.freeze()
            gc.enable()

    def _restored(self, rows: Rows) -> tuple[dict[str, E], int]:
        found: dict[str, list[tuple[int, bytes | StreamTime]]] = {}
        for row in rows.stories.values():
            name, position = self._place_of(row)
            found.setdefault(name, []).append((position, row))
        rows.stories.clear()
        for row in rows.times.values():
            time = decode(row, StreamTime)
            found.setdefault(time.edition, []).append((time.position, time))
        newest = max((position for placed in found.values() for position, _ in placed), default=-1)
        editions = {name: self._new_edition(name) for name in found}
        for name, edition in editions.items():
            self._restore(edition, self._decoded(found.pop(name)))
        return editions, newest

    def _decoded(self, rows: list[tuple[int, bytes | StreamTime]]) -> Iterator[R | StreamTime]:
        """The rows by position, decoded one by one: the bytes go as the records come."""
        rows.sort(key=itemgetter(0), reverse=True)
        while rows:
            _, row = rows.pop()
            yield row if isinstance(row, StreamTime) else decode(row, self._kind)


def _one_by_one(
    records: list[ConsumerRecord], read: list[ConsumerRecord], begin_next: Callable[[], None]
) -> Iterator[ConsumerRecord]:
    """The records, each noted in `read` as it is handed out, with a budget of its own."""
    for record in records:
        read.append(record)
        begin_next()
        yield record
