"""Records that aiokafka cannot read, as records that say so, instead of an error that stops whoever fetches them.

Anyone may send, and a broker takes in, header names that are not UTF-8, record structures that do not add up, and batches that
unpack to gigabytes; on a disk checksums go wrong. aiokafka then raises, and fetches the same again for ever.

`read_everything` has all consumers of this process hand out an `UnreadableRecord` in the place of each such record, or of the
whole batch where its records cannot be told apart. The format is that of https://kafka.apache.org/documentation/#recordbatch.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import cramjam
import msgspec
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.util import decode_varint
from aiokafka.structs import ConsumerRecord

from pipeline.records import InvalidRecord, R, Tick, decode
from pipeline.times import from_millis

LARGEST_UNPACKED = 64 * 1024 * 1024
"""Bytes that a batch may unpack to."""
LATEST = 253_402_300_799_000
"""Milliseconds from 1970 to the end of the year 9999."""
MOST_OFFSETS = 1_000_000
"""Records that a batch has: one whose checksum is wrong is not believed when it says more."""

_PREFIX = struct.Struct(">qi")
"""Of a batch: its first offset, and how many bytes follow."""
_AFTER_PREFIX = 49
"""Bytes of a batch's header after that: fewer are no batch."""
_NONE, _GZIP, _SNAPPY, _LZ4, _ZSTD = range(5)
_XERIAL = b"\x82SNAPPY\x00"


@dataclass
class UnreadableRecord(ConsumerRecord):  # type: ignore[misc]
    """A record that could not be read: what of it could, else its bytes as its value, and why."""

    reason: str = ""


def read(record: ConsumerRecord, kind: type[R]) -> R:
    """The record of class `kind` that a record of Kafka's holds. Raises InvalidRecord."""
    if isinstance(record, UnreadableRecord):
        raise InvalidRecord(record.reason)
    return decode(record.value, kind)


def read_tick(record: ConsumerRecord) -> Tick:
    """The tick that a record of `fingerprints` is, with the time that it is of. Raises InvalidRecord."""
    tick = read(record, Tick)
    return msgspec.structs.replace(tick, at=from_millis(max(0, record.timestamp - tick.behind_ms)))


def read_everything() -> None:
    """Have all consumers of this process read every record. To call it again changes nothing."""
    fetcher.MemoryRecords = _Batches
    fetcher.PartitionRecords._consumer_record = _consumer_record  # noqa: SLF001 - aiokafka has no other way


class _Broken(NamedTuple):
    """A record that could not be read, in the place of one that could."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes | None], ...]
    reason: str


class _Sound(NamedTuple):
    """A record that could be read though its neighbours could not."""

    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    checksum: None = None


_stock_consumer_record = fetcher.PartitionRecords._consumer_record  # noqa: SLF001 - see read_everything


def _consumer_record(self: Any, partition: Any, record: Any) -> ConsumerRecord:
    if not isinstance(record, _Broken):
        made: ConsumerRecord = _stock_consumer_record(self, partition, record)
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


class _Batches:
    """The batches of a fetched piece of a partition, as aiokafka's `MemoryRecords`; the last may be cut short."""

    def __init__(self, piece: bytes) -> None:
        self._piece = memoryview(piece)
        self._at = 0

    def size_in_bytes(self) -> int:
        """Bytes of the piece."""
        return len(self._piece)

    def has_next(self) -> bool:
        """Whether another whole batch follows."""
        if len(self._piece) - self._at < _PREFIX.size:
            return False
        _, length = _PREFIX.unpack_from(self._piece, self._at)
        return bool(length >= 0 and self._at + _PREFIX.size + length <= len(self._piece))

    def next_batch(self) -> "_Batch | None":
        """The next batch."""
        if not self.has_next():
            return None
        start = self._at
        _, length = _PREFIX.unpack_from(self._piece, start)
        self._at = start + _PREFIX.size + length
        return _Batch(self._piece[start : self._at])


class _Batch:
    """A batch that can be iterated whatever is in it; for the rest as aiokafka's."""

    def __init__(self, raw: memoryview) -> None:
        self._raw = raw
        self._batch: Any = None
        self.base_offset = _PREFIX.unpack_from(raw)[0]
        self.next_offset = self.base_offset + 1
        self.producer_id: int | None = None
        self.is_control_batch = self.is_transactional = False
        self._wrong = ""
        if len(raw) < _PREFIX.size + _AFTER_PREFIX:
            self._wrong = "it is too short"
            return
        batch = self._batch = DefaultRecordBatch(raw)
        sound = batch.magic == 2 and batch.validate_crc()
        if 0 < batch.next_offset - self.base_offset <= (2**31 if sound else MOST_OFFSETS):
            self.next_offset = batch.next_offset
        if batch.magic != 2:
            self._wrong = f"its format has version {batch.magic}, not 2"
        elif not sound:
            self._wrong = "its checksum is wrong"
        else:
            self.producer_id = batch.producer_id
            self.is_control_batch, self.is_transactional = batch.is_control_batch, batch.is_transactional

    def validate_crc(self) -> bool:
        """True: a wrong checksum is told of when the batch is iterated."""
        return True

    def __next__(self) -> Any:
        """The next record of a control batch."""
        return next(self._batch)

    def __iter__(self) -> Iterator[Any]:
        """Its records, and what stands for those that cannot be read."""
        if self._wrong:
            yield self._whole(self._wrong)
            return
        count = 0
        try:
            if self._batch.compression_type:  # which raises for what unpacks to too much
                _unpacked(self._batch.compression_type, bytes(self._raw[_PREFIX.size + _AFTER_PREFIX :]))
            for record in self._batch:
                yield record
                count += 1
        except Exception as error:  # noqa: BLE001 - whatever a library makes of broken bytes
            yield from self._salvaged(count, error)

    def _salvaged(self, skipped: int, error: Exception) -> Iterator[_Broken | _Sound]:
        """The records from one on, in plain Python."""
        payload: bytes = bytes(self._raw[_PREFIX.size + _AFTER_PREFIX :])
        try:
            if self._batch.compression_type:
                payload = _unpacked(self._batch.compression_type, payload)
        except Exception:  # noqa: BLE001
            yield self._whole(_words(error))
            return
        at, last = 0, self.base_offset - 1
        for index in range(self.next_offset - self.base_offset):
            if at >= len(payload):
                return
            try:
                length, start = decode_varint(payload, at)
            except (IndexError, ValueError):
                length, start = -1, at
            if length < 0 or start + length > len(payload):
                yield self._broken(max(last + 1, self.base_offset + index), payload[at:], _words(error))
                return
            at = start + length
            if index < skipped:
                continue
            found = self._parsed(payload[start:at], index)
            last = found.offset
            yield found

    def _parsed(self, body: bytes, index: int) -> _Broken | _Sound:
        """One record, which may be sound."""
        try:
            _, at = decode_varint(body, 0)
            later, at = decode_varint(body, at)
            delta, at = decode_varint(body, at)
            key, at = _bytes(body, at)
            value, at = _bytes(body, at)
            count, at = decode_varint(body, at)
            headers: list[tuple[str, bytes | None]] = []
            bad = ""
            for _ in range(count):
                raw, at = _bytes(body, at)
                said, at = _bytes(body, at)
                name = (raw or b"").decode(errors="backslashreplace")
                if not bad and (raw is None or name.encode() != raw):
                    bad = name
                headers.append((name, said))
        except (IndexError, ValueError, struct.error) as error:
            return self._broken(self.base_offset + index, body, _words(error))
        if not 0 <= delta < self.next_offset - self.base_offset:
            delta = index
        batch, offset = self._batch, self.base_offset + delta
        timestamp = batch.max_timestamp if batch.timestamp_type else batch.first_timestamp + later
        if bad:
            reason = f"Not readable: the name of a header is not UTF-8: {bad}."
        elif at != len(body):
            reason = "Not readable: the record is longer than its parts."
        else:
            return _Sound(offset, timestamp, batch.timestamp_type, key, value, tuple(headers))
        return _Broken(offset, _possible(timestamp), key, value or b"", tuple(headers), reason)

    def _whole(self, wrong: str) -> _Broken:
        """What stands for all of its records."""
        count = self.next_offset - self.base_offset
        return self._broken(
            self.base_offset, bytes(self._raw), f"Not readable: a batch of {count} records at this offset: {wrong}."
        )

    def _broken(self, offset: int, value: bytes, reason: str) -> _Broken:
        reason = reason if reason.startswith("Not readable") else f"Not readable: {reason}."
        at = 0 if self._wrong else self._batch.max_timestamp
        return _Broken(offset, _possible(at), None, value, (), reason)


def _possible(timestamp: int) -> int:
    """A time stamp that is a time."""
    return max(0, min(timestamp, LATEST))


def _bytes(body: bytes, at: int) -> tuple[bytes | None, int]:
    """Bytes with their length before them, and where they end. Raises ValueError."""
    length, at = decode_varint(body, at)
    if length < 0:
        return None, at
    if at + length > len(body):
        raise ValueError("a length is beyond the record's end")
    return body[at : at + length], at + length


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300].rstrip(".")


def _unpacked(codec: int, payload: bytes) -> bytes:
    """The records of a compressed batch. Raises CorruptRecordException where they are more than LARGEST_UNPACKED bytes."""
    too_large = CorruptRecordException(f"it unpacks to more than {LARGEST_UNPACKED:,} bytes")
    if codec == _GZIP:
        found = b""
        while payload:  # there may be several, one behind the other
            unpacker = zlib.decompressobj(31)
            found += unpacker.decompress(payload, LARGEST_UNPACKED + 1 - len(found))
            if len(found) > LARGEST_UNPACKED:
                raise too_large
            payload = unpacker.unused_data
        return found
    if codec == _SNAPPY:
        return _snappy(payload, too_large)
    if codec not in {_LZ4, _ZSTD}:
        raise CorruptRecordException(f"unknown compression {codec}")
    into = bytearray(min(LARGEST_UNPACKED, max(1_024, 64 * len(payload))))
    unpack = cramjam.lz4.decompress_into if codec == _LZ4 else cramjam.zstd.decompress_into
    try:
        return bytes(into[: unpack(payload, into)])
    except cramjam.DecompressionError:
        into = bytearray(LARGEST_UNPACKED)
        try:
            return bytes(into[: unpack(payload, into)])
        except cramjam.DecompressionError as error:
            raise (too_large if "whole buffer" in str(error) else CorruptRecordException(_words(error))) from None


def _snappy(payload: bytes, too_large: Exception) -> bytes:
    if not payload.startswith(_XERIAL):
        chunks = [payload]
    else:
        chunks, at = [], 16
        while at < len(payload):
            (length,) = struct.unpack_from(">i", payload, at)
            chunks.append(payload[at + 4 : at + 4 + length])
            at += 4 + max(0, length)
    if sum(map(cramjam.snappy.decompress_raw_len, chunks)) > LARGEST_UNPACKED:
        raise too_large
    return b"".join(bytes(cramjam.snappy.decompress_raw(chunk)) for chunk in chunks)
