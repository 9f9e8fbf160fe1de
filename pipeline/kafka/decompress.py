"""Unpack the batches that producers compress, up to a limit: whatever a broker takes in, a reader must survive."""

import struct
import zlib

import cramjam
from aiokafka.errors import CorruptRecordException

LARGEST_UNPACKED = 64 * 1024 * 1024
"""Bytes that a batch may unpack to."""
_NONE, _GZIP, _SNAPPY, _LZ4, _ZSTD = range(5)
"""Numbers of the codecs (https://kafka.apache.org/documentation/#recordbatch)."""
_XERIAL = b"\x82SNAPPY\x00"
"""How a batch begins that a Java client compressed with Snappy."""


def unpacked(codec: int, payload: bytes) -> bytes:
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
            raise (
                too_large if "whole buffer" in str(error) else CorruptRecordException(str(error)[:300].rstrip("."))
            ) from None


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
