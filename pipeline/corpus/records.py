"""The records of a file: lines, or rows of CSV, which may have several lines each."""

import csv
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Literal, NamedTuple

from pipeline.codec import InvalidRecord
from pipeline.lines import MAX_LINE_BYTES, lines, too_long

Format = Literal["jsonl", "csv", "tsv", "lines"]
SUFFIXES: dict[str, Format] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv"}
"""What a file's name says of its format; others have a document a line."""
PACKED = frozenset({".gz", ".zst", ".zstd"})


class Source(NamedTuple):
    """A file of documents."""

    path: str
    format: Format
    encoding: str = "utf-8"
    name: str = ""
    """what a document without an id is called by, beside its line"""


class Record(NamedTuple):
    """A record as it stands in the file."""

    line: int
    """the number of its first line"""
    raw: bytes
    error: str = ""
    """why it cannot be read"""


def format_of(path: str) -> Format:
    """The format that a file's name tells."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    while suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1], "lines") if suffixes else "lines"


def format_by_content(begin: bytes) -> Format:
    """The format of what has no name, by its first bytes: an object a line, or plain lines."""
    return "jsonl" if begin.lstrip().startswith(b"{") else "lines"


def records(source: Source, told: Callable[[int], None] | None = None) -> Iterator[Record]:
    """The records of a file in their order; blank lines are none, nor is the header of CSV.

    `told` is given, now and then, how many bytes of the file have been read.

    Raises OSError, and InvalidRecord for a file that cannot be unpacked.
    """
    numbered = lines(source.path, told)
    if source.format == "csv":
        rows = _rows(numbered, source.encoding)
        next(rows, None)
        yield from rows
        return
    for number, raw in numbered:
        if raw is None:
            yield Record(number, b"", too_long())
        elif raw.strip():
            yield Record(number, raw)


def header(source: Source) -> bytes:
    """The header of a CSV file, as it stands; nothing of others. Raises InvalidRecord if it cannot be read."""
    if source.format != "csv":
        return b""
    record = next(_rows(lines(source.path), source.encoding), Record(1, b""))
    if record.error:
        raise InvalidRecord(f"{source.path}, line {record.line}: {record.error}")
    return record.raw


def decoding_error(error: UnicodeDecodeError) -> str:
    """What is wrong with bytes that are not in the encoding that they should be in."""
    return (
        f"Not {error.encoding.upper()}: byte 0x{error.object[error.start]:02x} at {error.start}. --encoding says what it is, "
        "such as latin-1."
    )


def _rows(numbered: Iterator[tuple[int, bytes | None]], encoding: str) -> Iterator[Record]:
    """The rows of CSV as RFC 4180 has it. Of a row that is none, the first line is passed over."""
    csv.field_size_limit(MAX_LINE_BYTES)
    back: list[tuple[int, bytes | None]] = []
    held: list[tuple[int, bytes]] = []

    def text() -> Iterator[str]:
        while (line := back.pop() if back else next(numbered, None)) is not None:
            number, raw = line
            if raw is None:
                back.append(line)
                raise csv.Error("a quoted field is not closed before a line that is too long")
            held.append((number, raw))
            yield raw.decode(encoding)

    while True:
        held.clear()
        if not back and (line := next(numbered, None)) is not None:
            back.append(line)
        if back and back[-1][1] is None:
            yield Record(back.pop()[0], b"", too_long())
            continue
        try:
            values = next(csv.reader(text(), strict=True), None)
        except (csv.Error, UnicodeDecodeError) as error:
            said = f"Not CSV: {error}." if isinstance(error, csv.Error) else decoding_error(error)
            yield Record(*held[0], said)
            back.extend(reversed(held[1:]))
            continue
        if values is None:
            return
        if values:  # a blank line is none
            yield Record(held[0][0], b"".join(raw for _, raw in held))
