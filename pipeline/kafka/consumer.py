"""The consumer of this project: aiokafka's, but it reads every record, and gives one that cannot be read as an UnreadableRecord.

aiokafka names the classes of a consumer's parts in the functions that make them. Here these functions are used with other classes
in their place (`with_parts`); aiokafka's own classes stay as they are.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.consumer.fetcher import Fetcher, PartitionRecords
from aiokafka.structs import ConsumerRecord

from pipeline.config import Settings
from pipeline.kafka.connection import connection
from pipeline.kafka.record_batches import BrokenRecord, RecordBatches


@dataclass
class UnreadableRecord(ConsumerRecord):  # type: ignore[misc]
    """A record that could not be read: what of it could, else its bytes as its value, and why."""

    reason: str = ""


def with_parts(function: Callable[..., Any], **parts: Any) -> Any:
    """A library's function, with other classes in the place of those that it names. Raises TypeError if it names none such."""
    assert isinstance(function, FunctionType)
    if missing := parts.keys() - {*function.__code__.co_names}:
        raise TypeError(f"{function.__module__}.{function.__qualname__} does not use {', '.join(sorted(missing))}.")
    made = FunctionType(
        function.__code__, function.__globals__ | parts, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


class _PartitionRecords(PartitionRecords):  # type: ignore[misc]
    def _consumer_record(self, partition: Any, record: Any) -> ConsumerRecord:
        if not isinstance(record, BrokenRecord):
            made: ConsumerRecord = super()._consumer_record(partition, record)
            return made
        return UnreadableRecord(
            topic=partition.topic,
            partition=partition.partition,
            offset=record.offset,
            timestamp=record.timestamp,
            timestamp_type=1,
            key=record.key,
            value=record.value,
            checksum=None,
            serialized_key_size=-1 if record.key is None else len(record.key),
            serialized_value_size=len(record.value),
            headers=record.headers,
            reason=record.reason,
        )


class _Fetcher(Fetcher):  # type: ignore[misc]
    _proc_fetch_request = with_parts(
        Fetcher._proc_fetch_request,  # noqa: SLF001 - it makes the parts
        MemoryRecords=RecordBatches,
        PartitionRecords=_PartitionRecords,
    )


class Consumer(AIOKafkaConsumer):  # type: ignore[misc]
    """A consumer that reads every record."""

    start = with_parts(AIOKafkaConsumer.start, Fetcher=_Fetcher)


@asynccontextmanager
async def consuming(settings: Settings, **options: Any) -> AsyncIterator[Consumer]:
    """A started consumer of committed records, without a group unless the options name one. Raises KafkaError."""
    consumer = Consumer(
        **connection(settings), **({"enable_auto_commit": False, "isolation_level": "read_committed"} | options)
    )
    try:
        await consumer.start()
        yield consumer
    finally:
        await consumer.stop()
