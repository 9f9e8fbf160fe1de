"""Puts stories into Kafka."""

from typing import Self

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from pipeline.codec import encode
from pipeline.config import Settings
from pipeline.kafka.admin import BrokerError
from pipeline.kafka.connection import connection
from pipeline.records import Story


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
