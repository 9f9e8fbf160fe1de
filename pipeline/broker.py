"""Kafka as an administrator and a producer sees it: make and check the topics, put stories in."""

import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple, Self

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import GroupCoordinatorNotAvailableError, KafkaError, TopicAlreadyExistsError, for_code

from pipeline.config import Settings
from pipeline.connection import connection
from pipeline.records import Story, encode
from pipeline.topics import CLOCK, STREAMS, Topic, all_topics, group

OWN = 1
"""Source of a topic's setting that was made for it (https://kafka.apache.org/protocol: DYNAMIC_TOPIC_CONFIG)."""


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


async def mend_topics(settings: Settings) -> list[str]:
    """Give the topics that are there the settings that they must have; returns the names of those that had others.

    Raises BrokerError.
    """
    async with admin(settings) as client:
        there = {topic["topic"] for topic in await client.describe_topics()}
        others = await _other_configs(client, [topic for topic in all_topics(settings) if topic.name in there])
        for topic in others:
            found = (await _configs(client, [topic]))[topic.name]
            wanted = {name: entry.value for name, entry in found.items() if entry.own} | _essential(topic)
            try:
                await client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic.name, wanted)])
            except KafkaError as error:
                raise BrokerError(f"Kafka at {settings.kafka} did not configure {topic.name}: {error!r}") from None
    return [topic.name for topic in others]


class _Entry(NamedTuple):
    """A setting of a topic, and whether it is the topic's own."""

    value: str
    own: bool


def _essential(topic: Topic) -> dict[str, str]:
    """The settings that must be as they are declared; how much is kept is for whoever runs the broker to say."""
    return {name: value for name, value in topic.config.items() if not name.startswith("retention.")}


async def _configs(client: AIOKafkaAdminClient, topics: list[Topic]) -> dict[str, dict[str, _Entry]]:
    """The settings of topics, by name; none where this user may not see them."""
    found: dict[str, dict[str, _Entry]] = {topic.name: {} for topic in topics}
    asked = [ConfigResource(ConfigResourceType.TOPIC, topic.name) for topic in topics]
    for response in await client.describe_configs(asked):
        for _, _, _, name, entries, *_ in response.resources:
            found[name] = {entry[0]: _Entry(entry[1], entry[3] == OWN) for entry in entries}
    return found


async def _other_configs(client: AIOKafkaAdminClient, topics: list[Topic]) -> list[Topic]:
    """Those of these topics whose essential settings are others."""
    found = await _configs(client, topics) if topics else {}
    return [
        topic
        for topic in topics
        if found[topic.name]
        and any(
            found[topic.name][name].value != value
            for name, value in _essential(topic).items()
            if name in found[topic.name]
        )
    ]


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
        others = await _other_configs(client, [topic for topic in all_topics(settings) if topic.name in found])
    wrong = [
        f"Topic {topic.name} is not configured as it should be: run `newsburst topics create`." for topic in others
    ]
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


async def workers(settings: Settings) -> int:
    """How many workers are in the group. Raises BrokerError."""
    async with admin(settings) as client:
        try:
            described = await client.describe_consumer_groups([group(settings)])
        except GroupCoordinatorNotAvailableError:  # no worker has ever joined
            return 0
        return sum(len(found[5]) for response in described for found in response.groups)


async def seek(settings: Settings, topic: str, partition: int, offset: int) -> int | None:
    """Have the workers go on at an offset; returns where they would have. Raises BrokerError."""
    of = TopicPartition(topic, partition)
    if running := await workers(settings):
        raise BrokerError(f"Workers still run ({running}): stop them first.")
    async with admin(settings) as client:
        if of not in await partitions(client, [topic]):
            raise BrokerError(f"Kafka at {settings.kafka} has no partition {partition} of topic {topic}.")
    consumer = AIOKafkaConsumer(**connection(settings), group_id=group(settings), enable_auto_commit=False)
    try:
        await consumer.start()
        consumer.assign([of])
        begin, end = (await consumer.beginning_offsets([of]))[of], (await consumer.end_offsets([of]))[of]
        if not begin <= offset <= end:
            raise BrokerError(f"Partition {partition} of {topic} has the offsets {begin} to {end}, not {offset}.")
        before: int | None = await consumer.committed(of)
        await consumer.commit({of: offset})
        return before
    finally:
        await consumer.stop()


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


Ends = dict[TopicPartition, int]
"""The offset after the last of each partition."""
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
        return await self.left(await self.ends(STREAMS))

    async def left(self, ends: Ends) -> int:
        """How many records before these ends the workers have not finished with."""
        try:
            done = await self._admin.list_consumer_group_offsets(group(self._settings))
        except GroupCoordinatorNotAvailableError:  # no worker has ever joined
            done = {}
        unknown = [partition for partition in ends if partition not in done or done[partition].offset < 0]
        begins = await self._consumer.beginning_offsets(unknown) if unknown else {}
        left = {
            partition: (begins[partition] if partition in begins else done[partition].offset, end)
            for partition, end in ends.items()
        }
        few = {partition: start for partition, (start, end) in left.items() if 0 < end - start <= FEW}
        many: int = sum(max(0, end - start) for partition, (start, end) in left.items() if partition not in few)
        return many + (await self._count(few, ends) if few else 0)

    async def ends(self, streams: Iterable[str]) -> Ends:
        """The ends of the partitions of these streams."""
        return await self._ends([self._settings.topic(name) for name in streams])

    async def _count(self, starts: Ends, ends: Ends) -> int:
        """How many records there are from each of these offsets on: not each offset is one, where transactions ended."""
        self._consumer.assign([*starts])
        for partition, start in starts.items():
            self._consumer.seek(partition, start)
        count = 0
        for partition in starts:
            while await self._consumer.position(partition) < ends[partition]:
                found = (await self._consumer.getmany(partition, timeout_ms=500)).get(partition, [])
                count += sum(record.offset < ends[partition] for record in found)
        return count

    async def _ends(self, topics: list[str]) -> Ends:
        """The end of every partition of these topics."""
        ends: Ends = await self._consumer.end_offsets(await partitions(self._admin, topics))
        return ends


async def clock_ahead(settings: Settings) -> float:
    """By how many seconds the broker's clock is ahead of ours. Raises KafkaError."""
    producer = AIOKafkaProducer(**connection(settings))
    try:
        await producer.start()
        before = time.time()
        sent = await producer.send_and_wait(settings.topic(CLOCK), b"what time is it?")
        return float(sent.timestamp / 1_000 - (before + time.time()) / 2)
    finally:
        await producer.stop()


def _unreachable(settings: Settings, error: KafkaError) -> BrokerError:
    return BrokerError(f"No Kafka answers at {settings.kafka} (NEWSBURST_KAFKA): {error!r}.")
