"""Kafka as an administrator and a producer sees it: make and check the topics, put stories in."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from pipeline.config import Settings
from pipeline.records import Story, encode
from pipeline.topics import all_topics


class BrokerError(RuntimeError):
    """Kafka could not be reached or refused; the message says what and where."""


@asynccontextmanager
async def admin(settings: Settings) -> AsyncIterator[AIOKafkaAdminClient]:
    """An administrator's connection. Raises BrokerError."""
    client = AIOKafkaAdminClient(bootstrap_servers=settings.kafka, request_timeout_ms=20_000)
    try:
        try:
            await client.start()
        except KafkaError as error:
            raise BrokerError(f"No Kafka answers at {settings.kafka} (NEWSBURST_KAFKA): {error!r}.") from None
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
                raise BrokerError(f"Kafka at {settings.kafka} did not make topic {name}: {error.__name__} {rest[0] or ''}")
    return made


async def check_topics(settings: Settings) -> list[str]:
    """What is wrong with the topics, one sentence each; empty if all is well. Raises BrokerError."""
    async with admin(settings) as client:
        found = {topic["topic"]: topic for topic in await client.describe_topics()}
    wrong: list[str] = []
    counts: dict[int, str] = {}
    for topic in all_topics(settings):
        if topic.name not in found:
            wrong.append(f"Topic {topic.name} is missing: run `newsburst topics create`.")
        elif not topic.name.endswith(".dlq"):
            counts.setdefault(len(found[topic.name]["partitions"]), topic.name)
    if len(counts) > 1:
        sizes = ", ".join(f"{name} has {count}" for count, name in sorted(counts.items()))
        wrong.append(f"The topics must have equal numbers of partitions, but {sizes}.")
    return wrong


class StoryProducer:
    """Puts stories into the topic `stories`, keyed by their language, so that the stories of an edition keep their order."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._topic = settings.topic("stories")
        self._producer = AIOKafkaProducer(
            bootstrap_servers=settings.kafka, acks="all", enable_idempotence=True, linger_ms=5, max_batch_size=131_072
        )

    async def __aenter__(self) -> "StoryProducer":
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


async def end_offsets(consumer_or_client: object, topics: Iterable[str]) -> dict[str, int]:
    """How many records each topic has had, over all partitions, as seen by an aiokafka consumer."""
    consumer = consumer_or_client
    totals: dict[str, int] = {}
    for topic in topics:
        partitions = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic) or ())]  # type: ignore[attr-defined]
        ends = await consumer.end_offsets(partitions)  # type: ignore[attr-defined]
        totals[topic] = sum(ends.values())
    return totals
