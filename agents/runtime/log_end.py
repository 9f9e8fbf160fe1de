"""Where the log ends that positions count in."""

import asyncio

from aiokafka import TopicPartition

from agents.runtime.producer import attempts
from pipeline.config import Settings
from pipeline.kafka.changelogs import LOG
from pipeline.kafka.connection import connection
from pipeline.kafka.consumer import Consumer


class LogEnd:
    """Asks for the end of the log, again and again, on one connection."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._consumer: Consumer | None = None
        self._starting = asyncio.Lock()

    async def of(self, partition: int) -> int:
        """The end of this partition of the log. Waits while the broker is away."""
        log = TopicPartition(self._settings.topic(LOG), partition)
        async for attempt in attempts():
            with attempt:
                return int((await (await self._connected()).end_offsets([log]))[log])
        raise AssertionError  # it is tried until it succeeds or raises

    async def _connected(self) -> Consumer:
        async with self._starting:  # several partitions may be loaded at once
            if self._consumer is None:
                consumer = Consumer(**connection(self._settings), enable_auto_commit=False)
                try:
                    await consumer.start()
                except BaseException:
                    await consumer.stop()
                    raise
                self._consumer = consumer
            return self._consumer

    async def close(self) -> None:
        """Close the connection."""
        if self._consumer is not None:
            await self._consumer.stop()
