"""Chunks: consecutive records of a partition, handed to their agent and acknowledged at once.

    fetched      0 1 2 3 4 5 6 . 8 9    (7 was compacted away)
    chunks       [0 1 2] [3 4 5] [6 8 9]
    acknowledge   0 - 2 , 3 - 5 , 6 - 9

Faust hands over message by message, which is most of what a message costs. It lets an app say in which order fetched records
are handed over, and makes a `Message` of each in one place: here what it orders and wraps are lists of records. Faust's tables
need single messages, so an app that hands over chunks cannot have any.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from aiokafka.structs import ConsumerRecord
from faust.transport.utils import DefaultSchedulingStrategy
from faust.types.tuples import TP, ConsumerMessage

CHUNK_RECORDS = 100
"""The most records of a chunk: how far one partition may be ahead of the others that were fetched with it."""
WAITING_CHUNKS = 50
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


class ChunkScheduler(DefaultSchedulingStrategy):  # type: ignore[misc]
    """Hands over chunks, in turn between topics and between their partitions."""

    def iterate(self, records: Mapping[TP, list[ConsumerRecord]]) -> Iterator[tuple[TP, Any]]:
        """The chunks of what was fetched."""
        return super().iterate({tp: _cut(fetched) for tp, fetched in records.items()})  # type: ignore[no-any-return]


def _cut(records: list[ConsumerRecord]) -> list[list[ConsumerRecord]]:
    return [records[start : start + CHUNK_RECORDS] for start in range(0, len(records), CHUNK_RECORDS)]
