"""Kafka as an administrator and a producer sees it: make and check the topics, put stories in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.errors import GroupCoordinatorNotAvailableError, KafkaError, TopicAlreadyExistsError, for_code

from pipeline.config import Settings
from pipeline.connection import connection
from pipeline.records import Story, encode
from pipeline.topics import STREAMS, all_topics, group


class BrokerError(RuntimeError):
    """Kafka could not be reached or refused; the message says what and where."""


@asynccontextmanager
async def admin(settings: Settings) -> AsyncIterator[AIOKafkaAdminClient]:
    """An administrator's connection. Raises BrokerError."""
    client = AIOKafkaAdminClient(**connection(settings), request_timeout_ms=20_000)
    try:
        try:
            await client.start()
        except KafkaError as error:
            raise _unreachable(settings, error) from None
        yield client
    finally:
        await client.close()


async def create_topics(settings: Settings) -> list[str]:
    """Make the topics that are missing; returns their names. Raises BrokerError."""
    made: list[str] = []
    async with admin(settings) as client:
        wanted = [
            NewTopic(
                name=topic.name,
                num_partitions=settings.partitions,
                replication_factor=settings.replication,
                topic_configs=dict(topic.config),
            )
            for topic in all_topics(settings)
        ]
        response = await client.create_topics(wanted)
        for name, code, *rest in response.topic_errors:
            error = for_code(code)
            if not code:
                made.append(name)
            elif error is not TopicAlreadyExistsError:
                raise BrokerError(
                    f"Kafka at {settings.kafka} did not make topic {name}: {error.__name__} {rest[0] or ''}"
                )
    return made


async def grow_topics(settings: Settings) -> list[str]:
    """Give all topics as many partitions as the settings say, where they have fewer; returns their names. Raises BrokerError."""
    wanted = [topic.name for topic in all_topics(settings)]
    async with admin(settings) as client:
        found = {topic["topic"]: len(topic["partitions"]) for topic in await client.describe_topics(wanted)}
        small = [name for name in wanted if 0 < found.get(name, 0) < settings.partitions]
        try:
            if small:
                await client.create_partitions({name: NewPartitions(settings.partitions) for name in small})
        except KafkaError as error:
            raise BrokerError(f"Kafka at {settings.kafka} did not add partitions: {error!r}") from None
    return small


async def check_topics(settings: Settings) -> list[str]:
    """What is wrong with the topics, one sentence each; empty if all is well. Raises BrokerError."""
    async with admin(settings) as client:
        found = {topic["topic"]: topic for topic in await client.describe_topics()}
    wrong: list[str] = []
    counts: dict[int, str] = {}
    for topic in all_topics(settings):
        if topic.name not in found:
            wrong.append(f"Topic {topic.name} is missing: run `newsburst topics create`.")
        elif not topic.name.endswith((".dlq", ".requeued")):
            counts.setdefault(len(found[topic.name]["partitions"]), topic.name)
    if len(counts) > 1:
        sizes = ", ".join(f"{name} has {count}" for count, name in sorted(counts.items()))
        wrong.append(f"The topics must have equal numbers of partitions, but {sizes}.")
    return wrong


async def partitions(client: AIOKafkaAdminClient, topics: list[str]) -> list[TopicPartition]:
    """The partitions of those of these topics that there are."""
    return [
        TopicPartition(topic["topic"], partition["partition"])
        for topic in await client.describe_topics(topics)
        for partition in topic["partitions"]
    ]


class StoryProducer:
    """Puts stories into the topic `stories`, keyed by their language, so that the stories of an edition keep their order."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._topic = settings.topic("stories")
        self._producer = AIOKafkaProducer(
            **connection(settings), acks="all", enable_idempotence=True, linger_ms=5, max_batch_size=131_072
        )

    async def __aenter__(self) -> Self:
        try:
            await self._producer.start()
            found = await self._producer.partitions_for(self._topic)
        except KafkaError as error:
            await self._producer.stop()
            raise BrokerError(
                f"Kafka at {self._settings.kafka} (NEWSBURST_KAFKA) does not take topic {self._topic}: {error!r}. "
                "Is it running, and has `newsburst topics create` made the topics?"
            ) from None
        assert found
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._producer.stop()

    async def send(self, story: Story) -> None:
        """Hand over a story; it is on its way when this returns."""
        key = (story.language or self._settings.language).encode()
        await self._producer.send(self._topic, encode(story), key=key)

    async def flush(self) -> None:
        """Wait until the broker has all stories."""
        await self._producer.flush()


FEW = 1_000
"""Offsets that are looked into to see whether they are records."""


class Gauge:
    """Reads how far the workers are, again and again, on one connection."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._consumer = AIOKafkaConsumer(
            **connection(settings), enable_auto_commit=False, isolation_level="read_committed"
        )
        self._admin = AIOKafkaAdminClient(**connection(settings))

    async def __aenter__(self) -> Self:
        try:
            await self._consumer.start()
            await self._admin.start()
        except KafkaError as error:
            await self.__aexit__()
            raise _unreachable(self._settings, error) from None
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._consumer.stop()
        await self._admin.close()

    async def offsets(self, topic: str) -> int:
        """How many offsets of the topic are used: by its records, and by the ends of transactions."""
        return sum((await self._ends([self._settings.topic(topic)])).values())

    async def dead_letters(self) -> int:
        """How many dead letters there are, over all topics."""
        ends = await self._ends([topic.name for topic in all_topics(self._settings) if topic.name.endswith(".dlq")])
        return sum(ends.values())

    async def lag(self) -> int:
        """How many records the workers have not finished with, over all streams; the last few are counted one by one."""
        ends = await self._ends([self._settings.topic(name) for name in STREAMS])
        try:
            done = await self._admin.list_consumer_group_offsets(group(self._settings))
        except GroupCoordinatorNotAvailableError:  # no worker has ever joined
            done = {}
        left = {
            partition: (max(0, done[partition].offset) if partition in done else 0, end)
            for partition, end in ends.items()
        }
        few = {partition: start for partition, (start, end) in left.items() if 0 < end - start <= FEW}
        many = sum(end - start for partition, (start, end) in left.items() if partition not in few)
        return many + (await self._count(few, ends) if few else 0)

    async def _count(self, starts: dict[TopicPartition, int], ends: dict[TopicPartition, int]) -> int:
        """How many records there are from each of these offsets on: not each offset is one, where transactions ended."""
        self._consumer.assign([*starts])
        for partition, start in starts.items():
            self._consumer.seek(partition, start)
        count = 0
        for partition in starts:
            while await self._consumer.position(partition) < ends[partition]:
                count += len((await self._consumer.getmany(partition, timeout_ms=500)).get(partition, []))
        return count

    async def _ends(self, topics: list[str]) -> dict[TopicPartition, int]:
        """The end of every partition of these topics."""
        ends: dict[TopicPartition, int] = await self._consumer.end_offsets(await partitions(self._admin, topics))
        return ends


def _unreachable(settings: Settings, error: KafkaError) -> BrokerError:
    return BrokerError(f"No Kafka answers at {settings.kafka} (NEWSBURST_KAFKA): {error!r}.")
