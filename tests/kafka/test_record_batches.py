"""Records that the client library cannot read: they come out as such, and what is beside them as it is."""

import gzip
import os
import struct

import cramjam
import pytest
from aiokafka.consumer.fetcher import PartitionRecords
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c
from aiokafka.structs import TopicPartition
from hypothesis import given
from hypothesis import strategies as st

from pipeline.codec import InvalidRecord
from pipeline.kafka import decompress
from pipeline.kafka.consumer import UnreadableRecord, _PartitionRecords
from pipeline.kafka.decode import decode_record
from pipeline.kafka.record_batches import LATEST_MS, MAX_OFFSETS, RecordBatches
from pipeline.records import Story

PARTITION = TopicPartition("stories", 0)
CRC_AT, ATTRIBUTES_AT, HEADER = 17, 21, 61


def batch(*records, codec=0, base=0):
    """A batch of (key, value, headers)."""
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, 0, 10_000_000)
    for number, (key, value, headers) in enumerate(records):
        builder.append(number, 1_000 + number, key, value, headers)
    made = bytearray(builder.build())
    struct.pack_into(">q", made, 0, base)
    return made


def signed(made):
    struct.pack_into(">I", made, CRC_AT, calc_crc32c(bytes(made[ATTRIBUTES_AT:])))
    return bytes(made)


def unpacked(*batches, tolerant=True, offset=0):
    piece = b"".join(map(bytes, batches))
    of_records, of_partition = (RecordBatches, _PartitionRecords) if tolerant else (MemoryRecords, PartitionRecords)
    records = of_records(piece)
    return list(of_partition(PARTITION, records, [], offset, None, None, check_crcs=True, isolation_level=0))


SOUND = (b"k", b"value", [("trace", b"1")])
BAD = (b"k", b"value", [("na", b"1")])


def with_bad_header(codec=0):
    """A batch whose second of three records has a header name that is not UTF-8."""
    if not codec:
        return signed(bytearray(bytes(batch(SOUND, BAD, SOUND)).replace(b"na", b"\xff\xfe")))
    whole = bytearray(batch(SOUND, BAD, SOUND))
    payload = bytes(whole[HEADER:]).replace(b"na", b"\xff\xfe")
    pack = {1: gzip.compress, 2: cramjam.snappy.compress_raw, 3: cramjam.lz4.compress, 4: cramjam.zstd.compress}[codec]
    return packed(whole[:HEADER], bytes(pack(payload)), codec)


def packed(header, payload, codec):
    made = bytearray(header) + payload
    struct.pack_into(">i", made, 8, len(made) - 12)
    struct.pack_into(">h", made, ATTRIBUTES_AT, codec)
    return signed(made)


def test_the_library_itself_raises():
    with pytest.raises(UnicodeDecodeError):
        unpacked(with_bad_header(), tolerant=False)


@pytest.mark.parametrize("codec", range(5))
def test_a_header_name_that_is_not_utf8_makes_one_record_unreadable_and_no_other(codec):
    first, bad, last = unpacked(with_bad_header(codec))
    assert [record.offset for record in (first, bad, last)] == [0, 1, 2]
    assert isinstance(bad, UnreadableRecord)
    assert (bad.key, bad.value, bad.headers) == (b"k", b"value", (("\\xff\\xfe", b"1"),))
    with pytest.raises(InvalidRecord, match="name of a header is not UTF-8"):
        decode_record(bad, Story)
    assert not isinstance(last, UnreadableRecord)
    assert (last.key, last.value, last.headers, last.timestamp) == (b"k", b"value", (("trace", b"1"),), 1_002)


def test_sound_batches_are_read_as_the_library_reads_them():
    pieces = [batch(SOUND, SOUND, codec=codec, base=10 * codec) for codec in range(5)]
    assert unpacked(*pieces) == unpacked(*pieces, tolerant=False)


def test_a_wrong_checksum_is_one_record_for_the_batch_and_the_next_is_read():
    broken = bytearray(batch(SOUND, SOUND))
    broken[-1] ^= 1
    with pytest.raises(CorruptRecordException):
        unpacked(broken, tolerant=False)
    wrong, sound = unpacked(broken, batch(SOUND, base=2))
    assert (wrong.offset, sound.offset, sound.value) == (0, 2, b"value")
    assert "a batch of 2 records at this offset: its checksum is wrong" in wrong.reason
    assert wrong.value == bytes(broken)


@pytest.mark.parametrize("codec", [1, 2, 3, 4, 5, 7])
def test_what_cannot_be_unpacked_is_one_record(codec):
    made = packed(batch(SOUND)[:HEADER], os.urandom(300), codec)
    (record,) = unpacked(made)
    assert isinstance(record, UnreadableRecord)
    assert record.value == made


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_batch_that_unpacks_to_more_than_memory_should_hold_is_one_record(codec, monkeypatch):
    monkeypatch.setattr(decompress, "LARGEST_UNPACKED", 1_000_000)
    (record,) = unpacked(batch((b"k", b" " * 2_000_000, []), codec=codec))
    assert "more than 1,000,000 bytes" in record.reason
    assert len(record.value) < 200_000


def test_several_gzip_members_are_measured_together(monkeypatch):
    monkeypatch.setattr(decompress, "LARGEST_UNPACKED", 1_000_000)
    small, large = bytes(batch(SOUND)[HEADER:]), b" " * 2_000_000
    (record,) = unpacked(packed(batch(SOUND)[:HEADER], gzip.compress(small) + gzip.compress(large), 1))
    assert "more than 1,000,000 bytes" in record.reason


def test_a_batch_of_very_many_records_is_read_once():
    made = batch(SOUND)
    struct.pack_into(">i", made, 23, MAX_OFFSETS + 5)
    (found,) = [RecordBatches(signed(made)).next_batch()]
    assert found.next_offset == MAX_OFFSETS + 6


def test_a_time_stamp_that_is_no_time_is_made_one():
    made = bytearray(batch(SOUND))
    struct.pack_into(">q", made, 35, 2**62)
    (wrong,) = unpacked(bytes(made))
    assert 0 <= wrong.timestamp <= LATEST_MS


def test_a_batch_that_says_it_has_more_records_than_it_has_is_read_as_far_as_it_goes():
    made = batch(SOUND, SOUND)
    struct.pack_into(">i", made, HEADER - 4, 1_000)
    struct.pack_into(">i", made, 23, 999)
    records = unpacked(signed(made))
    assert [record.value for record in records[:2]] == [b"value", b"value"]


@given(st.binary(max_size=400), st.integers(0, 7), st.integers(0, 60))
def test_whatever_is_in_a_batch_reading_goes_on(payload, codec, count):
    header = bytearray(batch(SOUND)[:HEADER])
    struct.pack_into(">i", header, HEADER - 4, count)
    struct.pack_into(">i", header, 23, max(0, count - 1))
    *_, after = unpacked(packed(header, payload, codec), batch(SOUND, base=1_000))
    assert (after.offset, after.value) == (1_000, b"value")
    unpacked(header + payload, batch(SOUND, base=1_000))
