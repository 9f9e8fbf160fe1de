"""Read topics without a consumer group, as those do who only look."""

from collections.abc import AsyncIterator, Mapping, Sequence

from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

from pipeline.config import Settings
from pipeline.kafka.admin import BrokerError, admin, partitions
from pipeline.kafka.consumer import Consumer, consuming

WAIT_MS = 200
"""How long one request waits for records."""


async def read_to_end(consumer: Consumer, ends: Mapping[TopicPartition, int]) -> AsyncIterator[ConsumerRecord]:
    """The records of these partitions, which are assigned, from where the consumer stands up to the ends."""
    left = [of for of, end in ends.items() if await consumer.position(of) < end]
    while left:
        for of, records in (await consumer.getmany(*left, timeout_ms=WAIT_MS)).items():
            for record in records:
                if record.offset < ends[of]:
                    yield record
        left = [of for of in left if await consumer.position(of) < ends[of]]


async def listen(settings: Settings, topics: Sequence[str], *, follow: bool = False) -> AsyncIterator[ConsumerRecord]:
    """The committed records of some topics; ends with what was there at the start unless it should follow.

    Raises BrokerError.
    """
    names = [settings.topic(topic) for topic in topics]
    async with admin(settings) as client:
        found = await partitions(client, names)
    for name in names:
        if not any(partition.topic == name for partition in found):
            raise BrokerError(
                f"Kafka at {settings.kafka} has no topic {name}, or does not show it to this user: run `newsburst topics "
                "create`; what a user must be allowed is in docs/security.md."
            )
    async with consuming(settings, auto_offset_reset="earliest") as consumer:
        consumer.assign(found)
        await consumer.seek_to_beginning(*found)
        if not follow:
            async for record in read_to_end(consumer, await consumer.end_offsets(found)):
                yield record
        while follow:
            for records in (await consumer.getmany(timeout_ms=WAIT_MS)).values():
                for record in records:
                    yield record
