"""Seen stories: what is remembered of each story, to tell a story that is sent again from a revised one."""

from typing import NamedTuple

from pipeline.records import NormalisedStory
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


def contents(story: NormalisedStory) -> int:
    """A number that is another one when something that people read of the story is another, but for one case in 2**61.

    It is good within this process only.
    """
    return hash((story.title, url_key(story.url), story.publisher, story.published_at, story.retracted))
