"""Files of stories: one JSON object a line, plain or gzip, or standard input."""

import gzip
import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, cast

from pipeline.records import InvalidRecord, Story, decode
from pipeline.stages.normalise import normalise


class Line(NamedTuple):
    """A line of a file: the story in it, or what is wrong with it."""

    number: int
    story: Story | None
    error: str


GZIP = b"\x1f\x8b"
"""The first bytes of a gzip stream."""


@contextmanager
def _open(path: str) -> Iterator[Iterable[bytes]]:
    with nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as opened:
        raw = cast("io.BufferedReader", opened)
        if raw.peek(len(GZIP)).startswith(GZIP):
            with gzip.open(raw) as unpacked:
                yield unpacked
        else:
            yield raw


def read_stories(path: str, received_at: datetime, language: str) -> Iterator[Line]:
    """Each line of a file (`-`: standard input) as a story, checked as the normalise stage will check it.

    Empty lines are passed over. Raises OSError and EOFError for a file that cannot be read.
    """
    with _open(path) as lines:
        for number, raw in enumerate(lines, 1):
            text = raw.strip()
            if not text:
                continue
            try:
                story = decode(text, Story)
                normalise(story, received_at, language)
            except InvalidRecord as error:
                yield Line(number, None, str(error))
            else:
                yield Line(number, story, "")


def load_stories(path: str, received_at: datetime, language: str) -> list[Story]:
    """All stories of a file. Raises InvalidRecord with the line number for the first line that is not a story."""
    stories: list[Story] = []
    for line in read_stories(path, received_at, language):
        if line.story is None:
            raise InvalidRecord(f"{path}, line {line.number}: {line.error}")
        stories.append(line.story)
    return stories
