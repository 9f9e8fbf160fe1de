"""The state of the two stages that keep any: of each edition of each partition, built from the rows of a compacted changelog.

    changelog --load--> rows --build--> states of editions

Faust's tables are not used. Their recovery takes 75 us a row, holds the rows in memory beside what is built from them, loses and
repeats records, and a write inside a batch that raises does not say when it is safe.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import faust
import structlog
from aiokafka.errors import KafkaError

from agents.runtime.log_end import LogEnd
from agents.runtime.metrics import LOAD_SECONDS
from agents.runtime.producer import Messages, PackedProducer
from agents.runtime.rows import Changelog, StateOf, build
from agents.runtime.standby import Standby
from pipeline.config import Settings
from pipeline.kafka.changelogs import RULE_EVERY, Rows, StateError, check_log, check_rule, read_rows
from pipeline.records import Record

log = structlog.get_logger()

HEAD_START_S = 0.2
"""How long a stage lets the one before it begin to load."""

R = TypeVar("R", bound=Record)
E = TypeVar("E")


@dataclass(slots=True)
class Partition(Generic[E]):
    """A partition as its owner holds it: the states of its editions, and the producer of its transactions."""

    number: int
    states: dict[str, E]
    producer: PackedProducer
    new_state: Callable[[str], E]
    unsaid: int = RULE_EVERY
    """offsets of the changelog since its owner said the rule"""

    def state(self, edition: str) -> E:
        """The state of an edition."""
        if edition not in self.states:
            self.states[edition] = self.new_state(edition)
        return self.states[edition]


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
        state_of: StateOf[R, Any, E],
        log_end: LogEnd,
        after: "StateStore[Any, Any] | None" = None,
    ) -> None:
        self._app, self._settings, self.stage = app, settings, stage
        self._changelog, self._source = changelog, settings.topic(source)
        self._state_of, self._log_end, self._after = state_of, log_end, after
        self._owned: dict[int, Partition[E]] = {}
        self._generation = 0
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        """by partition: it is loaded once"""
        self._one_at_a_time = asyncio.Lock()
        """rows of one partition are read and built at a time: they fill memory and the processor"""
        self._ahead: set[asyncio.Task[None]] = set()
        self.loading: set[int] = set()
        """partitions whose state is being built"""
        self._idle = asyncio.Event()
        self._idle.set()
        self.standby = (
            Standby(settings, changelog, state_of, self._numbers, self._is_idle) if settings.standby else None
        )
        app.on_partitions_assigned.connect(self._keep_what_stays, weak=False)

    @property
    def generation(self) -> int:
        """The generation of the consumer group that the worker is in."""
        return int(self._app.consumer_generation_id)

    async def close(self) -> None:
        """Give all partitions up."""
        await asyncio.gather(*map(self.forget, [*self._owned.values()]))

    def states(self) -> dict[int, dict[str, E]]:
        """The states of the editions of the partitions that are owned and loaded."""
        return {number: partition.states for number, partition in self._owned.items()}

    async def loaded_first(self) -> None:
        """Let this stage load first, if it does or is about to: one processor builds both."""
        await asyncio.sleep(HEAD_START_S)
        await self._idle.wait()

    async def load(self, number: int) -> Partition[E]:
        """The partition: as it is owned, or else loaded from its changelog; again, if it changes hands meanwhile."""
        is_warm = self.standby is not None and number in self.standby
        if number not in self._owned and self._after is not None and not is_warm:
            await self._after.loaded_first()
        async with self._locks[number]:
            while number not in self._owned:
                generation = self._generation
                producer = PackedProducer(self._settings, f"{self._changelog.topic}-{number}")
                begin = time.perf_counter()
                self.loading.add(number)
                self._idle.clear()
                try:
                    await producer.start()
                    states, newest = await self._state(number)
                    check_log(self._changelog.name, number, newest, await self._log_end.of(number))
                except BaseException:
                    await producer.close()
                    raise
                finally:
                    self.loading.discard(number)
                    if not self.loading:
                        self._idle.set()
                if generation == self._generation:
                    LOAD_SECONDS.labels(self.stage).observe(time.perf_counter() - begin)
                    self._owned[number] = Partition(number, states, producer, self._state_of.new)
                else:
                    await producer.close()
            return self._owned[number]

    async def _state(self, number: int) -> tuple[dict[str, E], int]:
        """The states and the newest position of a partition: as they are kept warm, or else from its rows."""
        warm = await self.standby.take(number) if self.standby is not None else None
        if warm is not None:
            check_rule(warm.rule or {}, self._settings.rule())
            log.info("taken over from the standby", changelog=self._changelog.name, partition=number)
            return warm.states, warm.newest
        async with self._one_at_a_time:
            rows = await self._read(number)
            return await asyncio.to_thread(self._build, rows)

    def _numbers(self) -> Collection[int]:
        """The partitions that are owned."""
        return self._owned

    def _is_idle(self) -> bool:
        """Whether nothing that is owned waits to be loaded."""
        return not self.loading

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

    def say_rule(self, partition: Partition[E], messages: Messages) -> None:
        """Add the rule that the rows are made by to messages of a transaction, now and then."""
        partition.unsaid += len(messages) + 1  # the end of a transaction has an offset, too
        if messages and partition.unsaid >= RULE_EVERY:
            messages.append(self._changelog.rule(partition.number))
            partition.unsaid = 0

    async def forget(self, partition: Partition[E]) -> None:
        """Give a partition up: it is loaded again when it is needed."""
        if self._owned.get(partition.number) is partition:
            del self._owned[partition.number]
        await partition.producer.close()

    async def _keep_what_stays(self, app: faust.App, assigned: set[Any], **_: Any) -> None:
        """Partitions that stay in the next generation keep their state; the others are free for whoever has them next."""
        generation = app.consumer_generation_id
        ours = {partition.partition for partition in assigned if partition.topic == self._source}
        stay = ours if generation == self._generation + 1 else set()
        self._generation = generation
        await asyncio.gather(*(self.forget(gone) for number, gone in [*self._owned.items()] if number not in stay))
        if self.standby is not None:
            for number in ours - self._owned.keys():
                if number in self.standby:
                    task = asyncio.create_task(self._load_ahead(number))
                    self._ahead.add(task)
                    task.add_done_callback(self._ahead.discard)

    async def _load_ahead(self, number: int) -> None:
        """Take a partition over before its first record comes; what goes wrong is for that."""
        try:
            await self.load(number)
        except (KafkaError, StateError) as error:
            log.info("a partition is loaded with its first record", changelog=self._changelog.name, error=repr(error))
