"""Batches of a stream's messages, acknowledged when their work is done and safe.

Faust's `take` acknowledges its batch even when the agent raises, which loses it; `noack_take` waits out its time limit for every
batch that is not full. Here a batch ends when it is full, or nothing more has come for a moment: a lone story goes on at once,
and a backlog, which Faust hands over message by message, in large steps.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import faust

SIZE = 500
"""The most messages of a batch: it is also how long other agents may have to wait for the processor."""
QUIET = 0.005
"""Seconds without a message that end a batch."""
LONGEST = 10
"""The most quiet moments that a batch waits for in all: a steady trickle must not hold it up."""


class Raw(faust.Schema):  # type: ignore[misc]
    """What agents get of a message: the message. The records in it are ours to read."""

    def compile(self, *_: Any, **__: Any) -> Any:
        """The function that Faust decodes each message with."""

        async def decode(message: Any, *, propagate: bool = False) -> Any:  # noqa: ARG001 - as Faust calls it
            return message

        return decode


async def batches(
    app: faust.App, stream: Any, size: int = SIZE, load: Callable[[set[int]], Awaitable[None]] | None = None
) -> AsyncIterator[list[Any]]:
    """Batches of messages of partitions that this worker owns, each acknowledged after the loop's body has ended well.

    Before the body, `load` gets the state of these partitions.
    """
    queue = stream.channel.queue
    while True:
        try:
            messages = [await queue.get()]
        except StopAsyncIteration:  # the worker stops
            return
        for _ in range(LONGEST):
            while len(messages) < size and not queue.empty():
                messages.append(queue.get_nowait())
            if len(messages) == size:
                break
            await asyncio.sleep(QUIET)
            if queue.empty():
                break
        mine = _owned(app, messages)
        if mine and load is not None:
            await load({message.partition for message in mine})
            mine = _owned(app, mine)  # that may have taken a while
        if mine:
            yield mine
        for message in mine:
            message.ack(app.consumer)


def _owned(app: faust.App, messages: list[Any]) -> list[Any]:
    """Those messages that nobody else is given, too."""
    owned, generation = app.consumer.assignment(), app.consumer_generation_id
    return [message for message in messages if message.tp in owned and message.generation_id == generation]
