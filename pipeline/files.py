"""Files of stories: one JSON object a line, plain or packed, or standard input."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from pipeline.codec import InvalidRecord, decode
from pipeline.lines import lines, too_long
from pipeline.records import Story
from pipeline.stages.normalise import normalise
from pipeline.stages.rules import NormaliseRule


class Line(NamedTuple):
    """A line of a file: the story in it, or what is wrong with it."""

    number: int
    story: Story | None
    error: str


def read_stories(path: str, received_at: datetime | None, language: str) -> Iterator[Line]:
    """Each line of a file (`-`: standard input) as a story, checked as the normalise stage will check it.

    `received_at` is when they count as taken in; None: when each is read. Empty lines are passed over.

    Raises OSError, and InvalidRecord for a file that is no such file or is damaged.
    """
    rule = NormaliseRule(language)
    for number, raw in lines(path):
        if raw is None:
            yield Line(number, None, too_long())
            continue
        text = raw.strip()
        if not text:
            continue
        try:
            story = decode(text, Story)
            normalise(story, received_at or datetime.now(UTC), rule)
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
