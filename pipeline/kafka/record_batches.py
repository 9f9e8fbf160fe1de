"""The batches of records that a broker sends, read whatever is in them.

Anyone may send, and a broker takes in, header names that are not UTF-8, record structures that do not add up, and batches that
unpack to gigabytes; on a disk checksums go wrong. aiokafka then raises, and fetches the same again for ever. Here a record that
cannot be read comes out as a BrokenRecord in its place; where the records of a batch cannot be told apart, one stands for all.
The format is that of https://kafka.apache.org/documentation/#recordbatch.
"""

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.util import decode_varint

from pipeline.kafka.decompress import unpacked

LATEST_MS = 253_402_300_799_000
"""Milliseconds from 1970 to the end of the year 9999."""
MAX_OFFSETS = 1_000_000
"""Records that a batch has: one whose checksum is wrong is not believed when it says more."""

_PREFIX = struct.Struct(">qi")
"""Of a batch: its first offset, and how many bytes follow."""
_AFTER_PREFIX = 49
"""Bytes of a batch's header after that: fewer are no batch."""


class BrokenRecord(NamedTuple):
    """A record that could not be read, in the place of one that could."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes | None], ...]
    reason: str


class SoundRecord(NamedTuple):
    """A record that could be read though its neighbours could not."""

    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    checksum: None = None


class RecordBatches:
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
        if 0 < batch.next_offset - self.base_offset <= (2**31 if sound else MAX_OFFSETS):
            self.next_offset = batch.next_offset
        if batch.magic != 2:
            self._wrong = f"its format has version {batch.magic}, not 2"
        elif not sound:
            self._wrong = "its checksum is wrong"
        else:
            self.producer_id = batch.producer_id
            self.is_control_batch, self.is_transactional = batch.is_control_batch, batch.is_transactional

    def validate_crc(self) -> bool:
        """True: a wrong checksum is reported when the batch is iterated."""
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
                unpacked(self._batch.compression_type, bytes(self._raw[_PREFIX.size + _AFTER_PREFIX :]))
            for record in self._batch:
                yield record
                count += 1
        except Exception as error:  # noqa: BLE001 - whatever a library makes of broken bytes
            yield from self._salvaged(count, error)

    def _salvaged(self, skipped: int, error: Exception) -> Iterator[BrokenRecord | SoundRecord]:
        """The records from one on, in plain Python."""
        payload: bytes = bytes(self._raw[_PREFIX.size + _AFTER_PREFIX :])
        try:
            if self._batch.compression_type:
                payload = unpacked(self._batch.compression_type, payload)
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

    def _parsed(self, body: bytes, index: int) -> BrokenRecord | SoundRecord:
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
            return SoundRecord(offset, timestamp, batch.timestamp_type, key, value, tuple(headers))
        return BrokenRecord(offset, _possible(timestamp), key, value or b"", tuple(headers), reason)

    def _whole(self, wrong: str) -> BrokenRecord:
        """What stands for all of its records."""
        count = self.next_offset - self.base_offset
        return self._broken(
            self.base_offset, bytes(self._raw), f"Not readable: a batch of {count} records at this offset: {wrong}."
        )

    def _broken(self, offset: int, value: bytes, reason: str) -> BrokenRecord:
        reason = reason if reason.startswith("Not readable") else f"Not readable: {reason}."
        at = 0 if self._wrong else self._batch.max_timestamp
        return BrokenRecord(offset, _possible(at), None, value, (), reason)


def _possible(timestamp: int) -> int:
    """A time stamp that is a time."""
    return max(0, min(timestamp, LATEST_MS))


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
