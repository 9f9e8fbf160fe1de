"""Seen stories: what is remembered of each story, to tell a story that is sent again from a revised one, and to move it."""

from array import array
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.records import NormalisedStory
from pipeline.similarity.items import Ids
from pipeline.stages.urls import url_key


class SeenStory(NamedTuple):
    """A story that was put in a cluster; there may be millions."""

    time: int
    family: str
    cluster_id: str
    """the cluster it joined, which may have been merged since"""
    contents: int
    """what `contents` gives for it"""
    position: int
    """of its assignment"""
    title: str
    vector: bytes
    """see `pack`"""


def pack(ids: Ids, weights: NDArray[np.int64], headline_length: int, simhash: int) -> bytes:
    """What a story adds to its cluster, and its SimHash, in 8 bytes a token and 12 more."""
    head = headline_length, simhash >> 32, simhash & 0xFFFF_FFFF
    return array("I", [*head, *ids.tolist(), *weights.tolist()]).tobytes()


def unpack(vector: bytes) -> tuple[Ids, NDArray[np.int64], int, int]:
    """What was packed: tokens, their weights, how many of them are the headline's, and the SimHash."""
    numbers = np.frombuffer(vector, np.uint32).astype(np.int64)
    headline_length, upper, lower = numbers[:3].tolist()
    half = len(numbers[3:]) // 2
    return numbers[3 : 3 + half], numbers[3 + half :], headline_length, upper << 32 | lower


def contents(story: NormalisedStory) -> int:
    """A number that is another one when something that people read of the story is another, but for one case in 2**61.

    It is good within this process only.
    """
    return hash((story.title, url_key(story.url), story.publisher, story.published_at, story.retracted))
