"""Kafka as an administrator and a producer sees it: make and check the topics, put stories in."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import GroupCoordinatorNotAvailableError, KafkaError, TopicAlreadyExistsError, for_code

from pipeline.config import Settings
from pipeline.kafka.connection import connection
from pipeline.kafka.consumer import consuming
from pipeline.kafka.topics import CLOCK, Topic, all_topics, group

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
            raise unreachable(settings, error) from None
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


async def check_replicas(settings: Settings) -> list[str]:
    """Which partitions have lost replicas, one sentence for all; empty if none has. Raises BrokerError."""
    names = [topic.name for topic in all_topics(settings)]
    async with admin(settings) as client:
        parts = [
            (topic["topic"], part) for topic in await client.describe_topics(names) for part in topic["partitions"]
        ]
    headless = [f"{name}:{part['partition']}" for name, part in parts if part["leader"] < 0]
    lost = [f"{name}:{part['partition']}" for name, part in parts if len(part["isr"]) < len(part["replicas"])]
    wrong = []
    if headless:
        wrong.append(
            f"No broker leads {len(headless)} partitions, {headless[0]} among them: start the broker that did."
        )
    if lost:
        wrong.append(
            f"Of {len(lost)} partitions, {lost[0]} among them, replicas are lost or behind: a broker is down, or catches up."
        )
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
    async with consuming(settings, group_id=group(settings)) as consumer:
        consumer.assign([of])
        begin, end = (await consumer.beginning_offsets([of]))[of], (await consumer.end_offsets([of]))[of]
        if not begin <= offset <= end:
            raise BrokerError(f"Partition {partition} of {topic} has the offsets {begin} to {end}, not {offset}.")
        before: int | None = await consumer.committed(of)
        await consumer.commit({of: offset})
        return before


async def partitions(client: AIOKafkaAdminClient, topics: list[str]) -> list[TopicPartition]:
    """The partitions of those of these topics that there are."""
    return [
        TopicPartition(topic["topic"], partition["partition"])
        for topic in await client.describe_topics(topics)
        for partition in topic["partitions"]
    ]


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


def unreachable(settings: Settings, error: KafkaError) -> BrokerError:
    """The error of a broker that does not answer."""
    return BrokerError(f"No Kafka answers at {settings.kafka} (NEWSBURST_KAFKA): {error!r}.")
