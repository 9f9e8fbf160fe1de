"""What the records of Kafka hold: the one place where they are decoded. Whoever reads them dead-letters what this refuses."""

import msgspec
from aiokafka.structs import ConsumerRecord

from pipeline.codec import InvalidRecord, R, decode
from pipeline.kafka.consumer import UnreadableRecord
from pipeline.records import AMENDMENT, Amendment, Tick
from pipeline.times import from_millis


def decode_record(record: ConsumerRecord, kind: type[R]) -> R:
    """The record of class `kind` that a record of Kafka's holds. Raises InvalidRecord."""
    if isinstance(record, UnreadableRecord):
        raise InvalidRecord(record.reason)
    return decode(record.value, kind)


def decode_tick(record: ConsumerRecord) -> Tick:
    """The tick that a record of `fingerprints` is, with the time that it is of. Raises InvalidRecord."""
    tick = decode_record(record, Tick)
    return msgspec.structs.replace(tick, at=from_millis(max(0, record.timestamp - tick.behind_ms)))


def decode_amendment(record: ConsumerRecord) -> Amendment:
    """The amendment that a record is, with the time at which the broker took it in: on `amendments`, where it came first.

    Raises InvalidRecord.
    """
    amendment, at = decode_record(record, Amendment), from_millis(max(0, record.timestamp))
    if AMENDMENT in record.headers and amendment.at is not None:
        at = min(at, amendment.at)
    return msgspec.structs.replace(amendment, at=at)
