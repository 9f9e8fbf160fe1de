"""Puts stories and amendments into Kafka."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from pipeline.codec import encode
from pipeline.config import Settings
from pipeline.kafka.admin import BrokerError
from pipeline.kafka.connection import connection
from pipeline.records import Amendment, Record, Story

TIMEOUT_S, STOP_S = 20.0, 2.0
"""Seconds in which the broker must have what is delivered, and that closing may take."""
AMENDMENT_S = 8.0
"""Seconds that somebody who amends waits for the broker."""


async def send_amendment(settings: Settings, amendment: Amendment) -> None:
    """Put an amendment into the topic `amendments`; the broker has it when this returns.

    Raises BrokerError; the amendment may come through nevertheless.
    """
    try:
        async with asyncio.timeout(AMENDMENT_S), _Producer(settings, "amendments") as producer:
            await producer.deliver(amendment.edition, [amendment])
    except TimeoutError:
        raise BrokerError(
            f"Kafka at {settings.kafka} (NEWSBURST_KAFKA) did not answer within {AMENDMENT_S:.0f} s. Amendment {amendment.id} "
            "may come through yet: see `newsburst amend list` before you ask again."
        ) from None


class _Producer:
    """Puts records into a topic."""

    def __init__(self, settings: Settings, topic: str) -> None:
        self._settings = settings
        self._topic = settings.topic(topic)
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
        with suppress(TimeoutError, KafkaError):  # a broker that is away must not keep us
            await asyncio.wait_for(self._producer.stop(), STOP_S)

    async def deliver(self, key: str, records: Sequence[Record]) -> None:
        """Send records, and return when the broker has them all. Raises BrokerError."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                sent = [await self._producer.send(self._topic, encode(record), key=key.encode()) for record in records]
                await asyncio.gather(*sent)
        except (KafkaError, TimeoutError) as error:
            raise BrokerError(
                f"Kafka at {self._settings.kafka} (NEWSBURST_KAFKA) did not take it: {error!r}."
            ) from None

    async def send(self, key: str, record: Record) -> None:
        """Hand over a record; it is on its way when this returns."""
        await self._producer.send(self._topic, encode(record), key=key.encode())

    async def flush(self) -> None:
        """Wait until the broker has all records."""
        await self._producer.flush()


class StoryProducer:
    """Puts stories into the topic `stories`, keyed by their language, so that the stories of an edition keep their order."""

    def __init__(self, settings: Settings) -> None:
        self._language = settings.language
        self._producer = _Producer(settings, "stories")

    async def __aenter__(self) -> Self:
        await self._producer.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._producer.__aexit__(*error)

    async def send(self, story: Story) -> None:
        """Hand over a story; it is on its way when this returns."""
        await self._producer.send(story.language or self._language, story)

    async def deliver(self, stories: Sequence[Story]) -> None:
        """Send stories, and return when the broker has them all. Raises BrokerError."""
        by_key: dict[str, list[Story]] = {}
        for story in stories:
            by_key.setdefault(story.language or self._language, []).append(story)
        await asyncio.gather(*(self._producer.deliver(key, some) for key, some in by_key.items()))

    async def flush(self) -> None:
        """Wait until the broker has all stories."""
        await self._producer.flush()
