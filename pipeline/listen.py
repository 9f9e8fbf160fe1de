"""Read topics from their beginning, without a consumer group: for people and tests that only look."""

from collections.abc import AsyncIterator, Sequence

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import ConsumerRecord

from pipeline.broker import BrokerError, admin, partitions
from pipeline.config import Settings
from pipeline.connection import connection


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
    consumer = AIOKafkaConsumer(
        **connection(settings),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    try:
        await consumer.start()
        consumer.assign(found)
        await consumer.seek_to_beginning(*found)
        ends = await consumer.end_offsets(found)
        while follow or any([await consumer.position(partition) < ends[partition] for partition in found]):
            for records in (await consumer.getmany(timeout_ms=200)).values():
                for record in records:
                    yield record
    finally:
        await consumer.stop()
