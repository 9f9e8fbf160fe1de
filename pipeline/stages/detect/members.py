"""Members: all stories of an event, with how near each is to the event's centre.

A cluster takes in strays before it has a centre: the first story of an event is not always about it. The centre is the sum of the
TF-IDF vectors of the event's stories, and a story's score its cosine with that.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import sub
from typing import NamedTuple

import msgspec

from pipeline.similarity.tfidf import UNIT
from pipeline.stages.detect.window_story import WindowStory

Columns = tuple[list[int], list[int], list[int]]
"""What is packed: steps of position, steps of time, and scores."""


class Member(NamedTuple):
    """A story of an event."""

    position: int
    """of its assignment: with its edition, that names it"""
    time: int
    """event time, in microseconds since 1970"""
    score: int
    """its nearness to the centre in hundredths, 0 to 100"""


def members_of(stories: Sequence[WindowStory]) -> Iterable[Member]:
    """The members of an event that has these stories, by position."""
    return sorted(
        map(Member, (story.position for story in stories), (story.time for story in stories), scores(stories))
    )


def pack(members: Iterable[Member]) -> bytes:
    """Members, which come by position, in about eight bytes each: MessagePack writes small numbers short."""
    columns = [*zip(*members, strict=True)] or [(), (), ()]
    positions, times, centrality = columns
    return msgspec.msgpack.encode((_steps(positions), _steps(times), centrality))


def unpack(packed: bytes) -> Iterable[Member]:
    """The members that were packed, by position. Raises msgspec.DecodeError."""
    positions, times, centrality = msgspec.msgpack.decode(packed, type=Columns)
    return map(Member, accumulate(positions), accumulate(times), centrality)


def scores(stories: Sequence[WindowStory]) -> list[int]:
    """How near each story is to the centre of all of them, in hundredths."""
    centre: defaultdict[int, int] = defaultdict(int)
    vectors = [list(story.weights) for story in stories]
    for vector in vectors:
        for token, weight in vector:
            centre[token] += weight
    length = math.sqrt(sum(weight * weight for weight in centre.values())) * UNIT
    across = (sum(weight * centre[token] for token, weight in vector) for vector in vectors)
    return [min(100, round(100 * shared / length)) if length else 0 for shared in across]


def _steps(numbers: Sequence[int]) -> list[int]:
    """The first number, then the differences: small numbers are short."""
    return [*numbers[:1], *map(sub, numbers[1:], numbers)]
