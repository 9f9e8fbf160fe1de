"""Messages on their way to Kafka: nothing is acknowledged upstream before the broker has them."""

import asyncio
import re
from collections.abc import AsyncIterable, Coroutine, Iterator, Sequence
from typing import Any, NamedTuple

import stamina
import structlog
from aiokafka import AIOKafkaProducer, errors
from aiokafka.errors import (
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    KafkaError,
    KafkaTimeoutError,
    OutOfOrderSequenceNumber,
    ProducerClosed,
    ProducerFenced,
    UnknownProducerId,
)
from aiokafka.partitioner import DefaultPartitioner

from pipeline.config import Settings
from pipeline.kafka.connection import connection
from pipeline.kafka.topics import LARGEST_MESSAGE

log = structlog.get_logger()

BATCH_BYTES = 1_048_576
"""Bytes that go to a partition at once; a larger message goes by itself."""
REQUEST_TIMEOUT_MS = 20_000
"""Milliseconds for which the broker may leave a request unanswered, and a batch is sent again before a new producer tries."""
TRANSACTION_TIMEOUT_MS = 60_000
"""Milliseconds that a transaction may be open before the broker undoes it."""
SEND_TIMEOUT_S = 1.5 * REQUEST_TIMEOUT_MS / 1_000
"""Seconds after which a batch counts as failed, whatever the producer says."""
FIRST_WAIT_S, JITTER_S, LONGEST_WAIT_S = 0.05, 0.1, 5.0
"""Between two attempts: a partition that changes hands mostly takes the second, and waits for nothing else."""
CLOSE_TIMEOUT_S = 5.0
"""Seconds that closing may take: what is on its way then is given up."""
TRANSIENT = (
    ProducerFenced,
    ProducerClosed,
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    UnknownProducerId,
    KafkaTimeoutError,
)
"""Errors after which a new producer can do better, beside those that say so themselves."""


class Message(NamedTuple):
    """A message to send; without a partition, the key decides."""

    topic: str
    key: bytes | None
    value: bytes | None
    partition: int | None = None
    headers: Sequence[tuple[str, bytes]] = ()


Messages = list[Message]
"""What a batch brings, to be sent together."""


class PackedProducer:
    """A producer with packed batches: idempotent, so that a retry neither repeats nor reorders.

    With a transactional id, what is sent together is seen by readers of committed records together or not at all, and the one
    that started last with this id shuts out all earlier ones: whatever they had begun and not committed is undone
    (https://cwiki.apache.org/confluence/x/ng2zAw).

    Faust has a producer of its own; it takes messages one by one, and is idempotent in its exactly-once mode only.
    """

    def __init__(self, settings: Settings, transactional_id: str | None = None) -> None:
        self._settings = settings
        self._transactional_id = transactional_id
        self._producer: AIOKafkaProducer | None = None
        self._starting = asyncio.Lock()
        self._under_way: set[asyncio.Future[None]] = set()
        self._partition_of = DefaultPartitioner()

    async def start(self) -> AIOKafkaProducer:
        """Connect, and shut out earlier senders of the same transactional id. What is connected stays so."""
        async with self._starting:
            if self._producer is None:
                producer = AIOKafkaProducer(
                    **connection(self._settings),
                    acks="all",
                    enable_idempotence=True,
                    transactional_id=self._transactional_id,
                    transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
                    max_batch_size=BATCH_BYTES,
                    max_request_size=int(LARGEST_MESSAGE),
                    request_timeout_ms=REQUEST_TIMEOUT_MS,
                )
                try:
                    await producer.start()
                except BaseException:
                    await producer.stop()
                    raise
                self._producer = producer
        return self._producer

    async def send(self, messages: Messages) -> None:
        """Send these, in order in each partition, and wait until the broker has them all. Raises what went wrong with any.

        A transaction that fails is for its owner to do again; without one, what may pass is sent again until it is there.
        """
        if not messages:
            return
        if self._transactional_id is not None:
            await self._to_its_end(self._transact(messages))
            return
        async for attempt in attempts():
            with attempt:
                try:
                    await self._to_its_end(self._send(await self.start(), messages))
                except KafkaError:
                    await self.close()
                    raise

    async def _transact(self, messages: Messages) -> None:
        producer = await self.start()
        await producer.begin_transaction()
        await self._send(producer, messages)
        await producer.commit_transaction()

    async def _to_its_end(self, sending: Coroutine[Any, Any, None]) -> None:
        """Wait for it, or for this sender to be closed: what a producer has under way then never comes to an end."""
        task = asyncio.ensure_future(sending)
        self._under_way.add(task)
        try:
            done, _ = await asyncio.wait({task}, timeout=SEND_TIMEOUT_S)
        except asyncio.CancelledError:  # we are to stop
            task.cancel()
            raise
        finally:
            self._under_way.discard(task)
        if not done:
            task.cancel()
            raise KafkaTimeoutError
        if task.cancelled():
            raise ProducerClosed
        task.result()

    async def _send(self, producer: AIOKafkaProducer, messages: Messages) -> None:
        packed: dict[tuple[str, int], list[Message]] = {}
        for message in messages:
            partition = message.partition
            if partition is None:
                partitions = sorted(await producer.partitions_for(message.topic))
                partition = self._partition_of(message.key, partitions, partitions)
            packed.setdefault((message.topic, partition), []).append(message)
        await asyncio.gather(*(_pack(producer, *where, waiting) for where, waiting in packed.items()))

    async def close(self) -> None:
        """Close the connection. What is under way raises ProducerClosed."""
        producer, self._producer = self._producer, None
        while self._under_way:
            self._under_way.pop().cancel()
        if producer is not None:
            stopping = asyncio.ensure_future(producer.stop())
            _, late = await asyncio.wait({stopping}, timeout=CLOSE_TIMEOUT_S)
            for task in late:  # not waited for: aiokafka waits for its requests even when it is cancelled
                task.cancel()


def attempts() -> AsyncIterable[stamina.Attempt]:
    """Attempts at what may pass, with waits between them, until one succeeds."""
    return stamina.retry_context(
        on=is_transient,
        attempts=None,
        timeout=None,
        wait_initial=FIRST_WAIT_S,
        wait_jitter=JITTER_S,
        wait_max=LONGEST_WAIT_S,
    )


def is_transient(error: Exception) -> bool:
    """Whether what failed may be done again: another worker had the partition meanwhile, or the broker was away."""
    transient = any(
        isinstance(part, TRANSIENT) or (isinstance(part, KafkaError) and part.retriable) for part in _parts(error)
    )
    if transient:
        log.info("Kafka did not take a batch; trying again", error=repr(error))
    return transient


def _parts(error: BaseException) -> Iterator[BaseException]:
    """An error and those it was raised from; aiokafka wraps what went wrong in a plain KafkaError, or names it in one's text."""
    part: BaseException | None = error
    seen: set[int] = set()
    while part is not None and id(part) not in seen:  # each may be the context of the other
        seen.add(id(part))
        yield part
        if type(part) is KafkaError:
            for name in re.findall(r"(\w+)\(", str(part)):
                found = getattr(errors, name, None)
                if isinstance(found, type) and issubclass(found, KafkaError):
                    yield found()
        part = part.__cause__ or part.__context__


async def _pack(producer: AIOKafkaProducer, topic: str, partition: int, messages: list[Message]) -> None:
    """Send messages of one partition in as few batches as hold them."""
    sent: list[Any] = []
    batch = producer.create_batch()
    for message in messages:
        headers = list(message.headers)
        if batch.append(key=message.key, value=message.value, timestamp=None, headers=headers) is None:
            sent.append(await producer.send_batch(batch, topic, partition=partition))
            batch = producer.create_batch()
            batch.append(key=message.key, value=message.value, timestamp=None, headers=headers)
    sent.append(await producer.send_batch(batch, topic, partition=partition))
    for acknowledged in sent:
        await acknowledged
