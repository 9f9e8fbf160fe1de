"""The state of the two stages that keep any: of each edition of each partition, built from the rows of a compacted changelog.

    changelog --load--> rows --build--> states of editions
    records --work--> states of editions; rows, and what the stage has to say --one transaction--> changelog, topics

A partition has a transactional id, and whoever starts with it shuts out the one before, which may be frozen and not know that
it has lost the partition. So a transaction is committed only by a worker whose state holds all that was committed, and rows and
other messages are there together or not at all: a record that comes again finds its row, and brings nothing.

Faust's tables are not used. Their recovery takes 75 us a row, holds the rows in memory beside what is built from them, loses and
repeats records, and a write inside a batch that raises does not say when it is safe.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import faust
import stamina
import structlog
from aiokafka.structs import ConsumerRecord

from agents.runtime.dead_letters import FailedOn, dead_letter, work_through
from agents.runtime.log_end import LogEnd
from agents.runtime.producer import Messages, PackedProducer, is_transient
from agents.runtime.rows import Changelog, StateOf, build
from pipeline.config import Settings
from pipeline.kafka.changelogs import Rows, check_log, check_rule, read_rows
from pipeline.records import Record

log = structlog.get_logger()

MAX_FAULTS = 10
"""Records that a stage may fail on without any that it can work on."""
BUDGET_S = 10.0
"""Seconds of the processor that a record may take."""
HEAD_START_S = 0.2
"""How long a stage lets the one before it begin to load."""
LONGEST_WAIT_S = 5.0
"""The longest wait between two attempts."""

R = TypeVar("R", bound=Record)
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Partition(Generic[E]):
    """A partition as its owner holds it: the states of its editions, and the producer of its transactions."""

    number: int
    states: dict[str, E]
    producer: PackedProducer
    new_state: Callable[[str], E]
    first: Messages
    """what its next transaction begins with: the rule, if the rows do not say it yet"""

    def state(self, edition: str) -> E:
        """The state of an edition."""
        if edition not in self.states:
            self.states[edition] = self.new_state(edition)
        return self.states[edition]


Work = Callable[[Partition[E], Messages], AbstractContextManager[Callable[[ConsumerRecord], str]]]
"""Begins a batch: gives what works on a record and returns its outcome. It adds to the messages then, and when the batch ends."""


class StateStore(Generic[R, E]):
    """The states of a stage's editions, by partition of the topic `source` that it reads.

    Of two stages, the one that is `after` the other lets it load first.
    """

    def __init__(
        self,
        app: faust.App,
        settings: Settings,
        stage: str,
        changelog: Changelog,
        source: str,
        state_of: StateOf[R, E],
        log_end: LogEnd,
        after: "StateStore[Any, Any] | None" = None,
    ) -> None:
        self._app, self._settings, self._stage = app, settings, stage
        self._changelog, self._source = changelog, settings.topic(source)
        self._state_of, self._log_end, self._after = state_of, log_end, after
        self._owned: dict[int, Partition[E]] = {}
        self._generation = 0
        self.loading: set[int] = set()
        """partitions whose state is being built"""
        self._idle = asyncio.Event()
        self._idle.set()
        app.on_partitions_assigned.connect(self._keep_what_stays, weak=False)

    async def transact(self, number: int, records: list[ConsumerRecord], work: Work[E]) -> Counter[str]:
        """Have `work` change the state of a partition by these records, and send what it has to say, all or nothing.

        Should that fail because the partition changed hands or the broker was away, it is done again from the rows that
        were committed, as long as nothing says that the partition is not ours any more. Returns how many records had
        each outcome: none, if it was given up. Raises what trying again cannot mend.

        A record on which `work` fails, which is a fault of ours, or takes longer than BUDGET_S, goes to the dead letters, and the
        others are worked on without it; when more than MAX_FAULTS are all there is, the last error is raised.
        """
        generation = self._app.consumer_generation_id
        async for attempt in stamina.retry_context(
            on=is_transient, attempts=None, timeout=None, wait_max=LONGEST_WAIT_S
        ):
            with attempt:
                if generation != self._app.consumer_generation_id and attempt.num > 1:
                    break
                partition, messages, outcomes = await self._work_through(number, records, work)
                try:
                    await partition.producer.send(messages)
                    partition.first.clear()
                except BaseException:
                    await self._forget(partition)  # it holds what may not be on the changelog
                    raise
                return outcomes
        return Counter()

    async def _work_through(
        self, number: int, records: list[ConsumerRecord], work: Work[E]
    ) -> tuple[Partition[E], Messages, Counter[str]]:
        """Have `work` change the state; returns what is to be committed with it."""
        faults: Messages = []
        while True:
            partition = await self._load(number)
            messages: Messages = [*partition.first, *faults]
            try:
                with work(partition, messages) as work_on:
                    outcomes = work_through(self._stage, records, work_on, messages, BUDGET_S, stateful=True)
            except FailedOn as found:
                failed = found
            except BaseException:
                await self._forget(partition)
                raise
            else:
                outcomes["dead"] += len(faults)
                return partition, messages, outcomes
            await self._forget(partition)
            nothing_works = len(faults) >= MAX_FAULTS and len(records) == 1
            if nothing_works or isinstance(failed.error, MemoryError | OSError):  # it is not the records
                raise failed.error
            log.error("a stage failed on a record: now a dead letter", stage=self._stage, exc_info=failed.error)
            faults.append(dead_letter(self._stage, failed.record, failed.error))
            records = [record for record in records if record is not failed.record]

    async def close(self) -> None:
        """Give all partitions up."""
        await asyncio.gather(*map(self._forget, [*self._owned.values()]))

    def states(self) -> dict[int, dict[str, E]]:
        """The states of the editions of the partitions that are owned and loaded."""
        return {number: partition.states for number, partition in self._owned.items()}

    async def loaded_first(self) -> None:
        """Let this stage load first, if it does or is about to: one processor builds both."""
        await asyncio.sleep(HEAD_START_S)
        await self._idle.wait()

    async def _load(self, number: int) -> Partition[E]:
        """The partition: as it is owned, or else loaded from its changelog; again, if it changes hands meanwhile."""
        if number not in self._owned and self._after is not None:
            await self._after.loaded_first()
        while number not in self._owned:
            generation = self._generation
            producer = PackedProducer(self._settings, f"{self._changelog.topic}-{number}")
            self.loading.add(number)
            self._idle.clear()
            try:
                await producer.start()
                rows = await self._read(number)
                first = [self._changelog.rule(number)] if rows.rule is None else []
                states, newest = await asyncio.to_thread(self._build, rows)
                check_log(self._changelog.name, number, newest, await self._log_end.of(number))
            except BaseException:
                await producer.close()
                raise
            finally:
                self.loading.discard(number)
                if not self.loading:
                    self._idle.set()
            if generation == self._generation:
                self._owned[number] = Partition(number, states, producer, self._state_of.new, first)
            else:
                await producer.close()
        return self._owned[number]

    async def _read(self, number: int) -> Rows:
        rows = await read_rows(self._settings, self._changelog.name, number)
        if rows.transaction_open:  # though whoever had begun one was shut out when our producer started
            log.error(
                "Kafka lost the end of a transaction: its messages come again. Kafka 4.1 to 4.3 do so when they crash; "
                "see docs/decisions/0013-a-kafka-that-keeps-its-markers.md",
                topic=self._changelog.topic,
                partition=number,
            )
        check_rule(rows.rule or {}, self._settings.rule())
        return rows

    def _build(self, rows: Rows) -> tuple[dict[str, E], int]:
        return build(self._state_of, rows)

    async def _forget(self, partition: Partition[E]) -> None:
        if self._owned.get(partition.number) is partition:
            del self._owned[partition.number]
        await partition.producer.close()

    async def _keep_what_stays(self, app: faust.App, assigned: set[Any], **_: Any) -> None:
        """Partitions that stay in the next generation keep their state; the others are free for whoever has them next."""
        generation = app.consumer_generation_id
        ours = {partition.partition for partition in assigned if partition.topic == self._source}
        stay = ours if generation == self._generation + 1 else set()
        self._generation = generation
        await asyncio.gather(*(self._forget(gone) for number, gone in [*self._owned.items()] if number not in stay))
