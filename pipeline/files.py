"""Files of stories: one JSON object a line, plain or gzip, or standard input."""

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from pipeline.codec import InvalidRecord, decode
from pipeline.records import Story
from pipeline.stages.normalise import normalise


class Line(NamedTuple):
    """A line of a file: the story in it, or what is wrong with it."""

    number: int
    story: Story | None
    error: str


GZIP = b"\x1f\x8b"
"""The first bytes of a gzip stream."""
MARK = codecs.BOM_UTF8
"""What some editors write before text in UTF-8."""
MAX_LINE_BYTES = 4 * 1024 * 1024
"""Bytes of a line: a broker takes no story of more than one mebibyte."""


@contextmanager
def _open(path: str) -> Iterator[BinaryIO]:
    with nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as opened:
        raw = cast("io.BufferedReader", opened)
        begin = raw.peek(len(GZIP))
        if begin.startswith(GZIP):
            with gzip.open(raw) as unpacked:
                yield cast("BinaryIO", unpacked)
        elif begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise InvalidRecord(f"{path}: the file is in UTF-16; save it as UTF-8.")
        else:
            yield raw


def _lines(path: str) -> Iterator[tuple[int, bytes | None]]:
    """The numbered lines of a file; None for one that is longer than MAX_LINE_BYTES, which is never read whole."""
    number = 0
    try:
        with _open(path) as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    while line and not line.endswith(b"\n"):
                        line = file.readline(MAX_LINE_BYTES)
                    yield number, None
                else:
                    yield number, line.removeprefix(MARK) if number == 1 else line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidRecord(f"{path}: the gzip file is cut off or damaged after line {number}: {error}.") from None


def read_stories(path: str, received_at: datetime | None, language: str) -> Iterator[Line]:
    """Each line of a file (`-`: standard input) as a story, checked as the normalise stage will check it.

    `received_at` is when they count as taken in; None: when each is read. Empty lines are passed over.

    Raises OSError, and InvalidRecord for a file that is no such file or is damaged.
    """
    for number, raw in _lines(path):
        if raw is None:
            yield Line(number, None, f"The line has more than {MAX_LINE_BYTES:,} bytes.")
            continue
        text = raw.strip()
        if not text:
            continue
        try:
            story = decode(text, Story)
            normalise(story, received_at or datetime.now(UTC), language)
        except InvalidRecord as error:
            yield Line(number, None, str(error))
        else:
            yield Line(number, story, "")


def load_stories(
    path: str, received_at: datetime, language: str, refused: Callable[[Line], None] | None = None
) -> list[Story]:
    """All stories of a file.

    Lines that are none are given to `refused`; without it, the first raises InvalidRecord with its number.
    """
    stories: list[Story] = []
    for line in read_stories(path, received_at, language):
        if line.story is not None:
            stories.append(line.story)
        elif refused is None:
            raise InvalidRecord(f"{path}, line {line.number}: {line.error}")
        else:
            refused(line)
    return stories
