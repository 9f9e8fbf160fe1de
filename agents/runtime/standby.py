"""Standby: the states of partitions that other workers own, kept warm from what they write to a changelog.

    changelog --load--> states --follow each row--> equal to the owner's

A worker that takes such a partition over has its state after the last few rows, and need not load it.
"""

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from agents.runtime.rows import Changelog, StateOf, build
from pipeline.codec import decode
from pipeline.config import Settings
from pipeline.kafka.admin import BrokerError, admin, partitions
from pipeline.kafka.changelogs import AMENDED, RULE, TIME, StateError, check_rule, read_rows, rule_of, written
from pipeline.kafka.consumer import Consumer, consuming
from pipeline.kafka.topics import LARGEST_MESSAGE
from pipeline.kafka.upgrade import NewerRow
from pipeline.records import Record, StreamTime

log = structlog.get_logger()

R = TypeVar("R", bound=Record)
E = TypeVar("E")

RECORDS_AT_ONCE = 100
"""Rows that are taken in without a break: other agents wait that long for the processor."""
WAIT_MS = 100
FETCH_MS = 50
"""How long a broker may keep a fetch waiting: when a partition is taken over, the others are fetched anew only after that."""
CAUGHT_UP_S = 3.0
"""Seconds in which the last rows must have come; else the state is loaded."""
RETRY_S = 2.0
"""Seconds after which a standby that lost the broker begins anew."""


@dataclass(slots=True)
class Warm(Generic[E]):
    """The states of a partition's editions as of its last rows."""

    states: dict[str, E]
    newest: int
    """the largest position of a row"""
    rule: dict[str, str] | None
    next: int
    """the offset from which rows are yet to come"""


class Standby(Generic[R, E]):
    """The states of a changelog's partitions that are not `owned`."""

    def __init__(
        self,
        settings: Settings,
        changelog: Changelog,
        state_of: StateOf[R, Any, E],
        owned: Callable[[], Collection[int]],
        may_load: Callable[[], bool],
    ) -> None:
        self._may_load = may_load
        self._settings, self._changelog, self._state_of, self._owned = settings, changelog, state_of, owned
        self._warm: dict[int, Warm[E]] = {}
        self._consumer: Consumer | None = None
        self._complete = asyncio.Event()

    def __contains__(self, number: int) -> bool:
        return number in self._warm

    async def take(self, number: int) -> Warm[E] | None:
        """The state of a partition with all rows that are written, given up to the caller; None if it is not kept here.

        Nobody else may write rows by now.
        """
        of = TopicPartition(self._changelog.topic, number)
        with suppress(KafkaError, BrokerError, TimeoutError):
            async with asyncio.timeout(CAUGHT_UP_S):
                if self._consumer is not None and number in self._warm:
                    end = (await self._consumer.end_offsets([of]))[of]
                    while number in self._warm and self._warm[number].next < end:  # noqa: ASYNC110 - `keep` moves it
                        await asyncio.sleep(0.005)
                    return self._warm.pop(number, None)
        self._warm.pop(number, None)
        return None

    async def complete(self, within_s: float) -> None:
        """Wait until all states are warm that somebody else owns, or so many seconds have passed."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._complete.wait(), within_s)

    async def keep(self) -> None:
        """Keep the states warm until cancelled."""
        while True:
            try:
                await self._keep()
            except (KafkaError, BrokerError, StateError, NewerRow, OSError) as error:
                log.info("the standby begins anew", topic=self._changelog.topic, error=repr(error))
            except Exception:  # a standby must not end the worker that it stands by
                log.exception("the standby begins anew", topic=self._changelog.topic)
            finally:
                self._consumer = None
                self._warm.clear()
            await asyncio.sleep(RETRY_S)

    async def _keep(self) -> None:
        async with admin(self._settings) as client:
            numbers = sorted(of.partition for of in await partitions(client, [self._changelog.topic]))
        options = {"max_partition_fetch_bytes": int(LARGEST_MESSAGE), "fetch_max_wait_ms": FETCH_MS}
        async with consuming(self._settings, **options) as consumer:
            self._consumer, assigned = consumer, set[int]()
            while True:
                for number in numbers:
                    if number in self._owned():
                        self._warm.pop(number, None)
                    elif number not in self._warm and self._may_load():
                        self._warm[number] = await self._load(number)
                        break  # and take in what has come for the others
                else:
                    self._complete.set()
                if assigned != set(self._warm):
                    assigned = set(self._warm)
                    self._assign(consumer)
                if not assigned:
                    await asyncio.sleep(WAIT_MS / 1000)
                    continue
                found = await consumer.getmany(timeout_ms=WAIT_MS, max_records=RECORDS_AT_ONCE)
                for of, records in found.items():
                    self._follow(of.partition, records)
                for number in assigned:
                    position = await consumer.position(TopicPartition(self._changelog.topic, number))
                    if number in self._warm:  # which may be another one by now, loaded since
                        self._warm[number].next = max(self._warm[number].next, position)

    async def _load(self, number: int) -> Warm[E]:
        rows = await read_rows(self._settings, self._changelog.name, number)
        rule = rows.rule
        states, newest = await asyncio.to_thread(build, self._state_of, rows)
        return Warm(states, newest, rule, rows.end)

    def _assign(self, consumer: Consumer) -> None:
        of = {number: TopicPartition(self._changelog.topic, number) for number in self._warm}
        consumer.assign([*of.values()])
        for number, warm in self._warm.items():
            consumer.seek(of[number], warm.next)

    def _follow(self, number: int, records: list[Any]) -> None:
        """Take in rows of a partition, in their order."""
        warm = self._warm.get(number)
        if warm is None:
            return
        for record in records:
            found = written(self._changelog.name, record) if record.offset >= warm.next else None
            if found is None:
                continue
            if found.kind == RULE:
                warm.rule = rule_of(found.row)
                check_rule(warm.rule or {}, self._settings.rule())
            elif found.row is not None:  # what is deleted is let go of by itself
                edition, position, row = self._decoded(found.kind, found.row)
                if edition not in warm.states:
                    warm.states[edition] = self._state_of.new(edition)
                self._state_of.follow(warm.states[edition], [row])
                warm.newest = max(warm.newest, position)

    def _decoded(self, kind: bytes, row: bytes) -> tuple[str, int, Any]:
        """A row with its edition and position."""
        if kind == TIME:
            time = decode(row, StreamTime)
            return time.edition, time.position, time
        if kind == AMENDED:
            amendment = decode(row, self._state_of.amended)
            amended = self._state_of.amended_of(amendment)
            return amended.amendment.edition, amended.position, amendment
        edition, position = self._state_of.place(row)
        return edition, position, decode(row, self._state_of.row)
