"""How far the workers are: the ends of topics, what is committed, and what lies between."""

from collections.abc import Iterable
from typing import Self

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError, KafkaError
from aiokafka.structs import OffsetAndMetadata

from pipeline.config import Settings
from pipeline.kafka.admin import partitions, unreachable
from pipeline.kafka.connection import connection
from pipeline.kafka.consumer import Consumer
from pipeline.kafka.read import read_to_end
from pipeline.kafka.topics import STREAMS, all_topics, group

Ends = dict[TopicPartition, int]
"""The offset after the last of each partition."""
COUNTED_OFFSETS = 1_000
"""Offsets that are looked into to see whether they are records."""


class GroupProgress:
    """Reads how far the workers are, again and again, on one connection."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._consumer = Consumer(**connection(settings), enable_auto_commit=False, isolation_level="read_committed")
        self._admin = AIOKafkaAdminClient(**connection(settings))

    async def __aenter__(self) -> Self:
        try:
            await self._consumer.start()
            await self._admin.start()
        except KafkaError as error:
            await self.__aexit__()
            raise unreachable(self._settings, error) from None
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._consumer.stop()
        await self._admin.close()

    async def offsets(self, topic: str) -> int:
        """How many offsets of the topic are used: by its records, and by the ends of transactions."""
        return sum((await self._ends([self._settings.topic(topic)])).values())

    async def dead_letters(self) -> int:
        """How many dead letters there are, over all topics; the last few are counted one by one."""
        ends = await self._ends([topic.name for topic in all_topics(self._settings) if topic.name.endswith(".dlq")])
        return await self._between(await self.begins(ends), ends)

    async def lag(self) -> int:
        """How many records the workers have not finished with, over all streams; the last few are counted one by one."""
        return await self.left(await self.ends(STREAMS))

    async def left(self, ends: Ends) -> int:
        """How many records before these ends the workers have not finished with."""
        done = await self._done()
        unknown = [partition for partition in ends if partition not in done or done[partition].offset < 0]
        begins = await self.begins(unknown)
        starts = {partition: begins[partition] if partition in begins else done[partition].offset for partition in ends}
        return await self._between(starts, ends)

    async def _between(self, starts: Ends, ends: Ends) -> int:
        """How many records there are between these offsets; where there are many, how many offsets."""
        between = {partition: ends[partition] - start for partition, start in starts.items()}
        few = {partition: starts[partition] for partition, count in between.items() if 0 < count <= COUNTED_OFFSETS}
        many = sum(max(0, count) for partition, count in between.items() if partition not in few)
        return many + (await self._count(few, ends) if few else 0)

    async def committed(self, streams: Iterable[str]) -> Ends:
        """The offsets up to which the workers have finished with the partitions of these streams; 0 if they never have."""
        done = await self._done()
        return {
            partition: max(0, done[partition].offset) if partition in done else 0
            for partition in await self.ends(streams)
        }

    async def begins(self, of: Iterable[TopicPartition]) -> Ends:
        """The first offsets that are still on these partitions."""
        wanted = [*of]
        begins: Ends = await self._consumer.beginning_offsets(wanted) if wanted else {}
        return begins

    async def _done(self) -> dict[TopicPartition, OffsetAndMetadata]:
        try:
            found: dict[TopicPartition, OffsetAndMetadata] = await self._admin.list_consumer_group_offsets(
                group(self._settings)
            )
        except GroupCoordinatorNotAvailableError:  # no worker has ever joined
            return {}
        return found

    async def ends(self, streams: Iterable[str]) -> Ends:
        """The ends of the partitions of these streams."""
        return await self._ends([self._settings.topic(name) for name in streams])

    async def _count(self, starts: Ends, ends: Ends) -> int:
        """How many records there are from each of these offsets on: not each offset is one, where transactions ended."""
        self._consumer.assign([*starts])
        for partition, start in starts.items():
            self._consumer.seek(partition, start)
        return len([0 async for _ in read_to_end(self._consumer, {partition: ends[partition] for partition in starts})])

    async def _ends(self, topics: list[str]) -> Ends:
        """The end of every partition of these topics."""
        ends: Ends = await self._consumer.end_offsets(await partitions(self._admin, topics))
        return ends
