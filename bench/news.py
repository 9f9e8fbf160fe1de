"""The stories that are measured with: real headlines, and as many more as are asked for."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import msgspec

from pipeline.files import load_stories
from pipeline.records import Story
from pipeline.stages.normalise import normalise

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "samples" / "uci_sample_3days.jsonl.gz"
RECEIVED = datetime(2030, 1, 1, tzinfo=UTC)


@cache
def days() -> list[Story]:
    """The three days of labelled headlines that ship (11,623)."""
    return load_stories(str(SAMPLE), RECEIVED, "en")


@cache
def week() -> list[Story]:
    """Those days twice over, the second time four days later (23,246)."""
    later = [
        msgspec.structs.replace(story, id=f"{story.id}b", crawled_at=story.crawled_at + timedelta(days=4))
        for story in days()
    ]
    return days() + later


@cache
def token_sets() -> list[list[str]]:
    """The distinct tokens of the three days' headlines."""
    return [list(dict.fromkeys(normalise(story, RECEIVED).tokens)) for story in days()]


@cache
def bodies(count: int = 40) -> list[str]:
    """Texts of 500 words, strung together from headlines."""
    words = " ".join(story.title for story in days()[: 60 * count]).split()
    return [" ".join(words[500 * n : 500 * (n + 1)]) for n in range(count)]


def many(count: int) -> Iterator[Story]:
    """So many stories within three days: the headlines over and over, each time with other names in them.

    A showing keeps the words that events share, and swaps the marked ones for names of its own: so clusters stay as large as
    they are, and there are more of them.
    """
    source = days()
    start = datetime(2020, 1, 1, tzinfo=UTC)
    step = timedelta(days=3) / count
    showings = -(-count // len(source))
    streams = [iter(source) for _ in range(showings)]
    for number in range(count):
        showing = number % showings
        story = next(streams[showing])
        title = " ".join(_renamed(word, showing) for word in story.title.split())
        yield msgspec.structs.replace(
            story, id=f"n{number}", url=f"{story.url}?n={number}", title=title, crawled_at=start + number * step
        )


def _renamed(word: str, showing: int) -> str:
    return f"{word}{_name(showing)}" if showing and word[:1].isupper() else word


@cache
def _name(showing: int) -> str:
    """Letters that no other showing has."""
    name = ""
    while showing:
        showing, digit = divmod(showing, 20)
        name += "bcdfghjklmnpqrstvwxz"[digit]
    return name + "o"
