"""The numbered lines of a file: plain, gzip or zstd, as its first bytes say; `-` is the standard input."""

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, BinaryIO, cast

from pipeline.codec import InvalidRecord

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdError
    from compression.zstd import open as zstd_open
else:
    from backports.zstd import ZstdError
    from backports.zstd import open as zstd_open

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
"""The first bytes of what is packed so."""
MARK = codecs.BOM_UTF8
"""What some editors write before text in UTF-8."""
TOLD_EVERY = 1_000
"""Lines after which the reader says how far it is."""
MAX_LINE_BYTES = 4 * 1024 * 1024
"""Bytes of a line: a broker takes no story of more than one mebibyte."""


def too_long() -> str:
    """What is wrong with a line that is None."""
    return f"The line has more than {MAX_LINE_BYTES:,} bytes."


@contextmanager
def _opened(path: str) -> Iterator[tuple[BinaryIO, io.BufferedReader]]:
    """A file as it is unpacked, and as it stands."""
    with nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as file:
        raw = cast("io.BufferedReader", file)
        begin = raw.peek(len(ZSTD))
        if begin.startswith(GZIP):
            with gzip.open(raw) as unpacked:
                yield cast("BinaryIO", unpacked), raw
        elif begin.startswith(ZSTD):
            with zstd_open(raw) as unpacked:
                yield cast("BinaryIO", unpacked), raw
        elif begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise InvalidRecord(f"{path}: the file is in UTF-16; save it as UTF-8.")
        else:
            yield raw, raw


def lines(path: str, told: Callable[[int], None] | None = None) -> Iterator[tuple[int, bytes | None]]:
    """The numbered lines of a file; None for one that is longer than MAX_LINE_BYTES, which is never read whole.

    `told` is given, now and then, how many bytes of the file have been read.

    Raises OSError, and InvalidRecord for a file that is in UTF-16, or cannot be unpacked.
    """
    number = 0
    try:
        with _opened(path) as (file, raw):
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if told is not None and number % TOLD_EVERY == 0:
                    told(raw.tell())
                if len(line) > MAX_LINE_BYTES:
                    while line and not line.endswith(b"\n"):
                        line = file.readline(MAX_LINE_BYTES)
                    yield number, None
                else:
                    yield number, line.removeprefix(MARK) if number == 1 else line
    except (EOFError, zlib.error, gzip.BadGzipFile, ZstdError) as error:
        raise InvalidRecord(f"{path}: the packed file is cut off or damaged after line {number}: {error}.") from None


@contextmanager
def packing(file: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    """What packs what is written to it into a file, as the suffix of the file's name says; the same bytes give the same file."""
    if suffix == ".gz":
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            yield cast("IO[bytes]", packed)
    elif suffix in {".zst", ".zstd"}:
        with zstd_open(file, "wb") as packed:
            yield cast("IO[bytes]", packed)
    else:
        yield file
