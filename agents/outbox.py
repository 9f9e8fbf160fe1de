"""Messages on their way to Kafka: nothing is acknowledged upstream before the broker has them."""

from collections.abc import Awaitable, Mapping
from typing import Any

import faust


class Outbox:
    """Sends in order, and waits for all that was sent."""

    def __init__(self, app: faust.App) -> None:
        self._app = app
        self._pending: list[Awaitable[Any]] = []

    async def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        headers: Mapping[str, bytes] | list[tuple[str, bytes]] | None = None,
    ) -> None:
        """Hand a message to the producer."""
        producer = await self._app.maybe_start_producer()
        self._pending.append(await producer.send(topic, key, value, partition, None, headers))

    async def settle(self) -> None:
        """Wait until the broker has everything that was sent. Raises what went wrong with any message."""
        pending, self._pending = self._pending, []
        for sent in pending:
            await sent
