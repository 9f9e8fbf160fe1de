"""Batches of a stream's messages, acknowledged when their work is done and safe.

Faust's `take` acknowledges its batch even when the agent raises, which loses it; `noack_take` waits out its time limit for every
batch that is not full. Here a batch ends when it is full, or nothing more has come for a moment: a lone story goes on at once,
and a backlog, which Faust hands over message by message, in large steps.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import faust

SIZE = 200
"""The most messages of a batch: it is also how long other agents may have to wait for the processor."""
QUIET = 0.005
"""Seconds without a message that end a batch."""
LONGEST = 10
"""The most quiet moments that a batch waits for in all: a steady trickle must not hold it up."""


async def batches(app: faust.App, stream: Any, size: int = SIZE) -> AsyncIterator[list[Any]]:
    """Batches of events of partitions that this worker owns, each acknowledged after the loop's body has ended well."""
    queue = stream.channel.queue
    while True:
        try:
            events = [await queue.get()]
        except StopAsyncIteration:  # the worker stops
            return
        for _ in range(LONGEST):
            await asyncio.sleep(QUIET)
            if queue.empty():
                break
            while len(events) < size and not queue.empty():
                events.append(queue.get_nowait())
            if len(events) == size:
                break
        owned = app.consumer.assignment()
        mine = [event for event in events if event.message.tp in owned]
        if mine:
            yield mine
        for event in mine:
            await stream.ack(event)
