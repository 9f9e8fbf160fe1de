"""Chunks: consecutive records of a partition, handed to their agent and acknowledged at once.

    fetched      0 1 2 3 4 5 6 . 8 9    (7 was compacted away)
    chunks       [0 1 2] [3 4 5] [6 8 9]
    acknowledge   0 - 2 , 3 - 5 , 6 - 9

Faust hands over message by message, which is most of what a message costs. It lets an app say in which order fetched records
are handed over, and makes a `Message` of each in one place: here what it orders and wraps are lists of records. Tables of
Faust's want single messages, so that an app that hands over chunks can have none.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from aiokafka.structs import ConsumerRecord
from faust.transport.drivers.aiokafka import Consumer
from faust.transport.utils import DefaultSchedulingStrategy
from faust.types.tuples import TP, ConsumerMessage
from mode.utils.futures import notify

LONGEST = 100
"""The most records of a chunk: how far one partition may be ahead of the others that were fetched with it."""
WAITING = 50
"""The most chunks that wait for an agent: with more, no more are fetched for it."""


class Chunk(ConsumerMessage):  # type: ignore[misc]
    """Some records of a partition, in a message of Faust's that has the offset of the last."""

    __slots__ = ("first", "records")

    def __init__(self, tp: TP, first: int, records: list[ConsumerRecord], generation: int) -> None:
        last = records[-1]
        super().__init__(
            tp.topic,
            tp.partition,
            last.offset,
            last.timestamp / 1000,
            0,
            [],
            None,
            None,
            None,
            tp=tp,
            generation_id=generation,
        )
        self.first = first
        """The first offset that its acknowledgement covers: before its records some may be missing in the log."""
        self.records = records

    def on_final_ack(self, consumer: Any) -> bool:
        """Have all its offsets committed, as `Consumer.ack` does for one.

        An offset that waits to be committed already, from before a rebalance, is not added again: Faust commits the longest run
        of consecutive offsets, and a repeated one would end it.
        """
        super(ConsumerMessage, self).on_final_ack(consumer)
        waiting = consumer._acked_index[self.tp]  # noqa: SLF001 - Faust has no other way
        offsets = [offset for offset in range(self.first, self.offset + 1) if offset not in waiting]
        consumer._acked[self.tp].extend(offsets)  # noqa: SLF001
        waiting.update(offsets)
        consumer._n_acked += len(offsets)  # noqa: SLF001
        notify(consumer._waiting_for_ack)  # noqa: SLF001
        return True


class ChunkScheduler(DefaultSchedulingStrategy):  # type: ignore[misc]
    """Hands over chunks, in turn between topics and between their partitions."""

    def iterate(self, records: Mapping[TP, list[ConsumerRecord]]) -> Iterator[tuple[TP, Any]]:
        """The chunks of what was fetched."""
        return super().iterate({tp: _cut(fetched) for tp, fetched in records.items()})  # type: ignore[no-any-return]


def _cut(records: list[ConsumerRecord]) -> list[list[ConsumerRecord]]:
    return [records[start : start + LONGEST] for start in range(0, len(records), LONGEST)]


def hand_over_chunks() -> None:
    """Have Faust's consumers hand over chunks, in apps that have the `ChunkScheduler`."""
    Consumer._to_message = _to_chunk  # noqa: SLF001 - Faust has no other way
    Consumer._add_gap = _leave_gap  # noqa: SLF001


def _to_chunk(self: Consumer, tp: TP, records: list[ConsumerRecord]) -> Chunk:
    """What comes next to be handed over: it follows on what was read before."""
    read = self._read_offset[tp]
    first = records[0].offset
    return Chunk(tp, first if read is None else min(first, read + 1), records, self.app.consumer_generation_id)


async def _leave_gap(*_: Any) -> None:
    """Leave a gap in the offsets to the chunk that follows it.

    Faust counts it as acknowledged at once, and with it the message behind it, which is yet to be worked on.
    """
