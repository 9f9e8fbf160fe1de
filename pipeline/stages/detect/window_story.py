"""Window stories: what stays of a story that was counted, packed. There may be millions, and few are ever looked at again."""

from array import array
from collections.abc import Iterable
from operator import attrgetter
from sys import intern
from typing import NamedTuple

import msgspec

from pipeline.records import Assignment, NormalisedStory
from pipeline.similarity.items import checksums

TIME, TIME_AND_ID = attrgetter("time"), attrgetter("time", "id")
"""To look stories up by."""


class Text(msgspec.Struct, frozen=True, array_like=True):
    """What people read of a story."""

    title: str
    publisher: str
    url: str


class WindowStory(NamedTuple):
    """A counted story; they are in the order of their times, then of their ids."""

    time: int
    id: str
    position: int
    family: str
    is_copy: bool
    vector: bytes
    """the checksums of its tokens, then their TF-IDF weights, 4 bytes each"""
    packed: bytes
    """its Text, in msgpack"""

    @property
    def text(self) -> Text:
        """What people read of it."""
        return msgspec.msgpack.decode(self.packed, type=Text)

    @property
    def tokens(self) -> list[int]:
        """The checksums of its tokens."""
        return memoryview(self.vector[: len(self.vector) // 2]).cast("I").tolist()

    @property
    def weights(self) -> Iterable[tuple[int, int]]:
        """Its TF-IDF vector: the checksum and the weight of each token."""
        numbers = memoryview(self.vector).cast("I").tolist()
        half = len(numbers) // 2
        return zip(numbers[:half], numbers[half:], strict=True)


def keep(row: Assignment, time: int) -> WindowStory:
    """What stays of an assigned story of `time`."""
    story = row.story
    return WindowStory(
        time,
        story.id,
        row.position,
        intern(story.family),  # most come again and again
        row.duplicate_of is not None,
        array("I", [*checksums(row.weights), *row.weights.values()]).tobytes(),
        _packed(story),
    )


def revised(old: WindowStory, story: NormalisedStory) -> WindowStory:
    """What stays when the text of a kept story is corrected."""
    return old._replace(family=intern(story.family), packed=_packed(story))


def _packed(story: NormalisedStory) -> bytes:
    return msgspec.msgpack.encode(Text(story.title, story.publisher, story.url))
