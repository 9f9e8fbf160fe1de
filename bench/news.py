"""The stories that are measured with: real headlines, and as many more as are asked for."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import msgspec

from pipeline.files import load_stories
from pipeline.records import Story
from pipeline.stages.normalise import normalise

ROOT = Path(__file__).parent.parent
WEEK = ROOT.parent / "shared" / "data" / "uci_tuning_week.jsonl.gz"
SAMPLE = ROOT / "samples" / "uci_sample_3days.jsonl.gz"
RECEIVED = datetime(2030, 1, 1, tzinfo=UTC)


@cache
def week() -> list[Story]:
    """A week of labelled headlines (22,739); where that is not at hand the three days that ship, twice over."""
    if WEEK.exists():
        return load_stories(str(WEEK), RECEIVED, "en")
    sys.stderr.write(f"{WEEK} is not here: the three days that ship are measured with, twice over.\n")
    days = load_stories(str(SAMPLE), RECEIVED, "en")
    later = [
        msgspec.structs.replace(story, id=f"{story.id}b", crawled_at=story.crawled_at + timedelta(days=4))
        for story in days
    ]
    return days + later


@cache
def token_sets() -> list[list[str]]:
    """The distinct tokens of the week's headlines."""
    return [list(dict.fromkeys(normalise(story, RECEIVED).tokens)) for story in week()]


@cache
def bodies(count: int = 40) -> list[str]:
    """Texts of 500 words, strung together from headlines."""
    words = " ".join(story.title for story in week()[: 60 * count]).split()
    return [" ".join(words[500 * n : 500 * (n + 1)]) for n in range(count)]


def many(count: int) -> Iterator[Story]:
    """So many stories within three days: the week's headlines over and over, each time with other names in them.

    A showing keeps the words that events share, and swaps the marked ones for names of its own: so clusters stay as large as
    they are, and there are more of them.
    """
    source = week()
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
