"""Where the log ends that positions count in."""

import stamina
from aiokafka import TopicPartition

from agents.runtime.producer import is_transient
from pipeline.config import Settings
from pipeline.kafka.changelogs import LOG
from pipeline.kafka.connection import connection
from pipeline.kafka.consumer import Consumer


class LogEnd:
    """Asks for the end of the log, again and again, on one connection."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._consumer: Consumer | None = None

    async def of(self, partition: int) -> int:
        """The end of this partition of the log. Waits while the broker is away."""
        log = TopicPartition(self._settings.topic(LOG), partition)
        async for attempt in stamina.retry_context(on=is_transient, attempts=None, timeout=None, wait_max=5.0):
            with attempt:
                if self._consumer is None:
                    consumer = Consumer(**connection(self._settings), enable_auto_commit=False)
                    try:
                        await consumer.start()
                    except BaseException:
                        await consumer.stop()
                        raise
                    self._consumer = consumer
                return int((await self._consumer.end_offsets([log]))[log])
        raise AssertionError  # it is tried until it succeeds or raises

    async def close(self) -> None:
        """Close the connection."""
        if self._consumer is not None:
            await self._consumer.stop()
