"""Messages on their way to Kafka: nothing is acknowledged upstream before the broker has them."""

import asyncio
from typing import Any, NamedTuple

from aiokafka import AIOKafkaProducer
from aiokafka.partitioner import DefaultPartitioner

from pipeline.topics import LARGEST_MESSAGE

BATCH = 1_048_576
"""Bytes that go to a partition at once; a larger message goes by itself."""
PATIENCE = 1_200_000
"""Milliseconds for which a batch is sent again while the broker does not take it."""


class Message(NamedTuple):
    """A message to send; without a partition, the key decides."""

    topic: str
    key: bytes | None
    value: bytes | None
    partition: int | None = None
    headers: list[tuple[str, bytes]] | None = None


class Sender:
    """The producer of a worker: idempotent, so that a retry neither repeats nor reorders, with packed batches.

    Faust has a producer of its own; it takes messages one by one, and is idempotent in exactly-once mode only.
    """

    def __init__(self, kafka: str) -> None:
        self._kafka = kafka
        self._producer: AIOKafkaProducer | None = None
        self._starting = asyncio.Lock()
        self._partition_of = DefaultPartitioner()

    async def send(self, messages: list[Message]) -> None:
        """Send these, in order in each partition, and wait until the broker has them all. Raises what went wrong with any."""
        producer = await self._started()
        packed: dict[tuple[str, int], list[Message]] = {}
        for message in messages:
            partition = message.partition
            if partition is None:
                partitions = sorted(await producer.partitions_for(message.topic))
                partition = self._partition_of(message.key, partitions, partitions)
            packed.setdefault((message.topic, partition), []).append(message)
        await asyncio.gather(*(self._pack(producer, *where, waiting) for where, waiting in packed.items()))

    async def _pack(self, producer: AIOKafkaProducer, topic: str, partition: int, messages: list[Message]) -> None:
        sent: list[Any] = []
        batch = producer.create_batch()
        for message in messages:
            entry = {"key": message.key, "value": message.value, "timestamp": None, "headers": message.headers or []}
            if batch.append(**entry) is None:
                sent.append(await producer.send_batch(batch, topic, partition=partition))
                batch = producer.create_batch()
                batch.append(**entry)
        sent.append(await producer.send_batch(batch, topic, partition=partition))
        for acknowledged in sent:
            await acknowledged

    async def _started(self) -> AIOKafkaProducer:
        async with self._starting:
            if self._producer is None:
                self._producer = AIOKafkaProducer(
                    bootstrap_servers=self._kafka,
                    acks="all",
                    enable_idempotence=True,
                    max_batch_size=BATCH,
                    max_request_size=int(LARGEST_MESSAGE),
                    request_timeout_ms=PATIENCE,
                )
                await self._producer.start()
        return self._producer

    async def close(self) -> None:
        """Close the connection."""
        if self._producer is not None:
            await self._producer.stop()


class Outbox:
    """Collects the messages of a batch, and sends them when they are to be settled."""

    def __init__(self, app: Any) -> None:
        self._sender: Sender = app.sender
        self._messages: list[Message] = []

    def add(self, message: Message) -> None:
        """Have this sent."""
        self._messages.append(message)

    async def settle(self) -> None:
        """Send what was collected and wait until the broker has it all. Raises what went wrong with any message."""
        messages, self._messages = self._messages, []
        if messages:
            await self._sender.send(messages)
