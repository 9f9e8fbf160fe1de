"""Live updates: one consumer reads the topic `events`, and any number of readers get each update once.

A position says how far a reader is: for each partition of the topic, the offset of the next record. It is what a browser sends as
`Last-Event-ID` when it connects again, and so a reader that was away gets what it missed: from the latest updates, which are kept
here, or from the topic. Records are those of committed transactions.
"""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
import structlog
from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

from pipeline.codec import InvalidRecord
from pipeline.config import Settings
from pipeline.kafka.admin import BrokerError, admin, partitions
from pipeline.kafka.consumer import Consumer, consuming
from pipeline.kafka.decode import decode_record
from pipeline.kafka.read import WAIT_MS, read_to_end
from pipeline.records import EventUpdate

KEPT = 2_000
"""Updates that are kept for readers that come back."""
LEAST_WAITING = 1_000
"""Updates that may wait for a reader; one that is slower than that is cut off, and comes back where it was."""
CATCHING_UP = 2
"""Readers for whom the topic is read again at once."""
RETRY_S = 1.0
QUIET_S = 15.0
METADATA_MS = 30_000
"""How often it is seen whether the topic has new partitions."""
CUT_OFF = "cut off"
"""The last that a reader gets who is too slow."""
_POSITION = re.compile(r"\d{1,5}:\d{1,19}(?:\.\d{1,5}:\d{1,19}){0,9999}")

Position = Mapping[int, int]
"""The offset of the next record of each partition."""
log = structlog.get_logger()


class InvalidPosition(ValueError):
    """Text that is no position; the message says what one looks like."""


class Told(NamedTuple):
    """An update, and where its reader is after it."""

    update: EventUpdate
    partition: int
    offset: int
    """of the next record of its partition"""


def parse(text: str) -> Position:
    """The position that a text stands for. Raises InvalidPosition."""
    if not _POSITION.fullmatch(text):
        raise InvalidPosition(f"{text[:80]!r} is no position: take one that this stream gave, such as 0:17.1:4.")
    parts = [part.partition(":") for part in text.split(".")]
    return {int(partition): int(offset) for partition, _, offset in parts}


def written(position: Position) -> str:
    """A position as text."""
    return ".".join(f"{partition}:{offset}" for partition, offset in sorted(position.items()))


class Hub:
    """Gives the updates of the topic to its readers."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._topic = settings.topic("events")
        self._kept: deque[Told] = deque()
        self._begin: dict[int, int] = {}
        self._next: dict[int, int] = {}
        self._waiting: set[asyncio.Queue[Told | str]] = set()
        self._catching_up = asyncio.Semaphore(CATCHING_UP)
        self._started = asyncio.Event()
        self._closed = False
        self.problem = "it has not been reached yet"
        """what is wrong with Kafka; nothing if all is well"""

    def position(self) -> Position:
        """The position after the latest update that is known."""
        return dict(self._next)

    async def run(self) -> None:
        """Follow the topic for ever, through all that Kafka may do."""
        while True:
            try:
                await self._follow()
            except Exception as error:  # noqa: BLE001 - whatever it is, pages wait for what comes after it
                if not self.problem:
                    log.warning("events cannot be followed", error=str(error) or repr(error))
                self.problem = str(error) or repr(error)
            await asyncio.sleep(RETRY_S)

    async def updates(self, since: Position | None = None, gather_s: float = 0.0) -> AsyncIterator[list[Told]]:
        """The updates after a position, in lists: first what was missed, then what comes; without a position, from now on.

        A list holds what comes within `gather_s` seconds of its first; it is empty where nothing came for QUIET_S seconds. Raises
        BrokerError and KafkaError. It ends where the reader is too slow.
        """
        with self._queue() as queue:
            while not await _within(self._started.wait(), QUIET_S):
                yield []
            self._empty(queue)
            at = dict(self._next)
            if since is not None and (missed := await self._missed(since, at)):
                yield missed
            while not self._closed:
                told = [await _within(queue.get(), QUIET_S)] if queue.empty() else []
                if told != [None]:
                    await asyncio.sleep(gather_s)
                while not queue.empty():
                    told.append(queue.get_nowait())
                if CUT_OFF in told:
                    return
                yield [one for one in told if isinstance(one, Told)]

    def close(self) -> None:
        """Let every reader end."""
        self._closed = True
        self._started.set()
        for queue in self._waiting:
            queue.put_nowait(CUT_OFF)

    @contextmanager
    def _queue(self) -> Iterator[asyncio.Queue[Told | str]]:
        queue: asyncio.Queue[Told | str] = asyncio.Queue()
        self._waiting.add(queue)
        try:
            yield queue
        finally:
            self._waiting.discard(queue)

    async def _missed(self, since: Position, until: Position) -> list[Told]:
        """The updates from one position up to another."""
        starts = {of: min(since.get(of, 0), end) for of, end in until.items()}
        if all(start >= self._begin.get(of, 0) for of, start in starts.items()):
            return [
                one for one in self._kept if starts.get(one.partition, 0) < one.offset <= until.get(one.partition, 0)
            ]
        async with self._catching_up, consuming(self._settings, auto_offset_reset="earliest") as consumer:
            ends = {TopicPartition(self._topic, of): end for of, end in until.items() if starts[of] < end}
            consumer.assign([*ends])
            for of in ends:
                consumer.seek(of, starts[of.partition])
            return [told async for record in read_to_end(consumer, ends) if (told := _told(record))]

    async def _follow(self) -> None:
        async with admin(self._settings) as client:
            found = await partitions(client, [self._topic])
        if not found:
            raise BrokerError(
                f"Kafka at {self._settings.kafka} has no topic {self._topic}: run `newsburst topics create`."
            )
        options = {"auto_offset_reset": "earliest", "metadata_max_age_ms": METADATA_MS}
        async with consuming(self._settings, **options) as consumer:
            consumer.assign(found)
            async for record in read_to_end(consumer, await self._seek(consumer, found)):
                self._take(record)
            self.problem = ""
            self._started.set()
            while len(consumer.partitions_for_topic(self._topic) or found) == len(found):
                for records in (await consumer.getmany(timeout_ms=WAIT_MS)).values():
                    for record in records:
                        self._take(record)

    async def _seek(self, consumer: Consumer, found: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Go on where the hub is; at first a little before the end, for readers that were there before it. Returns the ends."""
        begins = await consumer.beginning_offsets(found)
        ends = await consumer.end_offsets(found)
        for of in found:
            start = max(begins[of], ends[of] - KEPT // len(found))
            if of.partition in self._next and begins[of] <= self._next[of.partition] <= ends[of]:
                start = self._next[of.partition]
            else:
                self._begin[of.partition] = start
            self._next[of.partition] = start
            consumer.seek(of, start)
        return dict(ends)

    def _take(self, record: ConsumerRecord) -> None:
        self._next[record.partition] = record.offset + 1
        told = _told(record)
        if told is None:
            return
        self._kept.append(told)
        if len(self._kept) > KEPT:
            oldest = self._kept.popleft()
            self._begin[oldest.partition] = oldest.offset
        for queue in self._waiting:
            if queue.qsize() < LEAST_WAITING:
                queue.put_nowait(told)
            else:
                self._cut_off(queue)

    def _cut_off(self, queue: asyncio.Queue[Told | str]) -> None:
        self._empty(queue)
        queue.put_nowait(CUT_OFF)

    @staticmethod
    def _empty(queue: asyncio.Queue[Told | str]) -> None:
        while not queue.empty():
            queue.get_nowait()


def _told(record: ConsumerRecord) -> Told | None:
    """The update that a record holds, without `members`, which only the store reads; None for what is none."""
    try:
        update = decode_record(record, EventUpdate)
    except InvalidRecord as error:
        log.warning("event skipped", partition=record.partition, offset=record.offset, error=str(error))
        return None
    return Told(msgspec.structs.replace(update, members=None), record.partition, record.offset + 1)


async def _within(waited: Awaitable[Any], seconds: float) -> Any:
    """What is waited for, or nothing if it takes longer."""
    try:
        return await asyncio.wait_for(waited, seconds)
    except TimeoutError:
        return None
