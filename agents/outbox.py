"""Messages on their way to Kafka: nothing is acknowledged upstream before the broker has them."""

from collections.abc import Awaitable
from typing import Any, NamedTuple

import faust


class Message(NamedTuple):
    """A message to send; without a partition, the key decides."""

    topic: str
    key: bytes | None
    value: bytes | None
    partition: int | None = None
    headers: list[tuple[str, bytes]] | None = None


class Outbox:
    """Collects messages, and sends them in order when they are to be settled.

    All at once, because the producer starts a request as soon as it has anything: handed over one by one between the
    work, a batch of stories made a request for each.
    """

    def __init__(self, app: faust.App) -> None:
        self._app = app
        self._messages: list[Message] = []

    def add(self, message: Message) -> None:
        """Have this sent."""
        self._messages.append(message)

    async def settle(self) -> None:
        """Send what was collected and wait until the broker has it all. Raises what went wrong with any message."""
        messages, self._messages = self._messages, []
        if not messages:
            return
        producer = await self._app.maybe_start_producer()
        sent: list[Awaitable[Any]] = [
            await producer.send(topic, key, value, partition, None, headers)
            for topic, key, value, partition, headers in messages
        ]
        for acknowledged in sent:
            await acknowledged
