"""Members: all stories of an event, and which of them are strays.

A cluster takes in strays before it has a centre, and can go on from one happening to the next, so the first of its stories is not
always about the event. The centre is the sum of the TF-IDF vectors of the event's stories; a story's score is its cosine with
that. The event begins with a story near the centre: the first one of the window in which it broke, or one before it, going back
from near story to near story as long as none came more than a window before the next, or is very near.

    stories     s--o-----------s-o--o-ss-o-o-ooo-ooooo--->     o near the centre, s not
                   |< longer >|  |       |window it broke in|
                   than a window the first

Strays are what came before that, and what is far from the centre.
"""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import sub
from typing import NamedTuple

import msgspec

from pipeline.similarity.tfidf import UNIT
from pipeline.stages.detect.window_story import WindowStory

NEAR = 40
"""The score from which the event can begin with a story."""
VERY_NEAR = 75
"""The score from which it can, however long before the others the story came."""
FAR = 20
"""The score below which a story is a stray."""
Columns = tuple[list[int], list[int], list[int], list[bool]]
"""What is packed: steps of position, steps of time, scores, and which are strays."""


class Member(NamedTuple):
    """A story of an event."""

    position: int
    """of its assignment: with its edition, that names it"""
    time: int
    """event time, in microseconds since 1970"""
    score: int
    """its nearness to the centre in hundredths, 0 to 100"""
    is_stray: bool = False


def members_of(stories: Sequence[WindowStory], broke: tuple[int, int], gap: int) -> list[Member]:
    """The members of an event that has these stories, which come by time; they are returned by position.

    `broke` are the first and last time of the window in which it broke, `gap` the longest time between near stories of an event,
    all in microseconds.
    """
    centrality = scores(stories)
    first = _first_near([story.time for story in stories], centrality, broke, gap)
    return sorted(
        Member(story.position, story.time, score, score < FAR or place < first)
        for place, (story, score) in enumerate(zip(stories, centrality, strict=True))
    )


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


def _first_near(times: Sequence[int], centrality: Sequence[int], broke: tuple[int, int], gap: int) -> int:
    """The place of the story with which the event begins; the first one where none is near."""
    near = [place for place, score in enumerate(centrality) if score >= NEAR]
    if not near:
        return 0
    index = bisect_left(near, bisect_left(times, broke[0]))
    if index == len(near) or times[near[index]] > broke[1]:
        index = max(0, index - 1)  # none in the window: it is the last before
    first = near[index]
    for place in reversed(near[:index]):
        if times[first] - times[place] <= gap or centrality[place] >= VERY_NEAR:
            first = place
    return first


def pack(members: Iterable[Member]) -> bytes:
    """Members, which come by position, in about nine bytes each: MessagePack writes small numbers short."""
    columns = [*zip(*members, strict=True)] or [(), (), (), ()]
    positions, times, centrality, strays = columns
    return msgspec.msgpack.encode((_steps(positions), _steps(times), centrality, strays))


def unpack(packed: bytes) -> Iterable[Member]:
    """The members that were packed, by position. Raises msgspec.DecodeError."""
    positions, times, centrality, strays = msgspec.msgpack.decode(packed, type=Columns)
    return map(Member, accumulate(positions), accumulate(times), centrality, strays)


def _steps(numbers: Sequence[int]) -> list[int]:
    """The first number, then the differences: small numbers are short."""
    return [*numbers[:1], *map(sub, numbers[1:], numbers)]
