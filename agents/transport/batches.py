"""Batches of a stream's messages, acknowledged when their work is done and safe.

Faust's `take` acknowledges its batch even when the agent raises, which loses it; `noack_take` waits out its time limit for every
batch that is not full. Here a batch ends when it is full, or nothing more has come for a moment: a lone story goes on at once,
and a backlog in large steps.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import faust
from aiokafka.structs import ConsumerRecord

from agents.transport.chunks import Chunk

BATCH_RECORDS = 500
"""Records that make a batch full: it is also how long other agents may have to wait for the processor."""
LINGER_S = 0.005
"""Seconds without a record that end a batch."""
MAX_LINGERS = 10
"""The most quiet moments that a batch waits for in all: a steady trickle must not hold it up."""


class Raw(faust.Schema):  # type: ignore[misc]
    """What agents get of a message: the message, a chunk. The records in it are ours to read."""

    def compile(self, *_: Any, **__: Any) -> Any:
        """The function that Faust decodes each message with."""

        async def decode(message: Any, *, propagate: bool = False) -> Any:  # noqa: ARG001 - as Faust calls it
            return message

        return decode


async def batches(app: faust.App, stream: Any, size: int = BATCH_RECORDS) -> AsyncIterator[list[ConsumerRecord]]:
    """Batches of records of partitions that this worker owns, each acknowledged after the loop's body has ended well.

    What changes hands meanwhile is not acknowledged. A batch may be a chunk less one record longer than `size`.
    """
    queue = stream.channel.queue
    while True:
        try:
            chunks: list[Chunk] = [await queue.get()]
        except StopAsyncIteration:  # the worker stops
            return
        count = len(chunks[0].records)
        for _ in range(MAX_LINGERS):
            while count < size and not queue.empty():
                chunks.append(queue.get_nowait())
                count += len(chunks[-1].records)
            if count >= size:
                break
            await asyncio.sleep(LINGER_S)
            if queue.empty():
                break
        mine = _owned(app, chunks)
        if mine:
            yield [record for chunk in mine for record in chunk.records]
        for chunk in _owned(app, mine):
            chunk.ack(app.consumer)


def by_partition(records: list[ConsumerRecord]) -> dict[int, list[ConsumerRecord]]:
    """The records of each partition, in their order; partitions by their numbers."""
    found: dict[int, list[ConsumerRecord]] = {}
    for record in records:
        found.setdefault(record.partition, []).append(record)
    return dict(sorted(found.items()))


def _owned(app: faust.App, chunks: list[Chunk]) -> list[Chunk]:
    """Those chunks that nobody else is given, too."""
    owned, generation = app.consumer.assignment(), app.consumer_generation_id
    return [chunk for chunk in chunks if chunk.tp in owned and chunk.generation_id == generation]
