"""The clustering of one edition: its clusters, bucket tables and word counts.

It is a function of the *set* of rows (`Assignment`, `Amended`) that are kept: all sums are over whole numbers, buckets rank by
position, and rows live as long as their cluster. Clusters that stories were moved between die together, so that the rows that
lead to one are there as long as any of the others needs them. `pipeline.stages.cluster.restore` is that function.
"""

from array import array
from dataclasses import dataclass, field
from sys import intern
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.languages.background import Background
from pipeline.records import Assignment
from pipeline.similarity import simhash
from pipeline.similarity.buckets import Keys
from pipeline.similarity.items import Ids, token_ids
from pipeline.similarity.minhash_compiled import Signature
from pipeline.stages.cluster.index import StoryIndex
from pipeline.stages.cluster.kernels import (
    absorb_cluster,
    add_story,
    drop_cluster,
    forget_stories,
    new_window,
    open_cluster,
    tie_clusters,
)
from pipeline.stages.cluster.seen import SeenStory, contents, pack
from pipeline.stages.lifetimes import Expired, Lifetimes
from pipeline.stages.observer import DecisionObserver
from pipeline.stages.rules import ClusterRule, match_rule
from pipeline.stages.weights import Weights, shipped


@dataclass(slots=True)
class LiveCluster:
    """A living cluster. The sums of its vectors and what the scores need of it are in the window, under its group."""

    id: str
    group: int
    simhash: int
    """of the story that opened it"""
    first: tuple[int, str, str]
    """time, id and headline of its first story"""
    last: int
    """time of its last story"""
    opened: int
    """position of the story that opened it"""
    position: int = -1
    """position of the last story that changed it"""
    members: list[str] = field(default_factory=list)
    numbers: "array[int]" = field(default_factory=lambda: array("q"))
    """their numbers in the bucket tables"""
    absorbed: list[str] = field(default_factory=list)
    """the clusters that were merged into it"""
    retracted: int = 0
    """how many of its stories are retracted"""
    publishers: dict[str, int] = field(default_factory=dict)
    """how many of its stories each publisher family has"""
    amendments: list[str] = field(default_factory=list)
    """those of which it keeps the rows"""


class Sketch(NamedTuple):
    """What the window takes of a story: its tokens, the headline's first, with their weights, its band keys and its SimHash."""

    ids: Ids
    weights: NDArray[np.int64]
    headline_length: int
    """how many of the tokens are the headline's"""
    keys: Keys
    signature: Signature
    simhash: int
    candidates: int = 0
    """how many stories it was compared with, when it came"""


class ClusterState:
    """The clustering of one edition. It changes only by `advance`, `apply`, `revise` and `pipeline.stages.cluster.amend`."""

    def __init__(
        self,
        background: Background,
        rule: ClusterRule | None = None,
        weights: Weights | None = None,
        observer: DecisionObserver | None = None,
    ) -> None:
        self.observer = observer
        self.rule = rule or ClusterRule()
        self.weights = weights or shipped()
        self.background = background
        self.seen: dict[str, SeenStory] = {}
        """the stories of all clusters, by their ids"""
        self.revised: set[str] = set()
        """those that were corrected or retracted ..."""
        self.retracted: set[str] = set()
        """... and those that are retracted"""
        self.amendments: set[str] = set()
        """those of which rows are kept"""
        self.clusters: dict[str, LiveCluster] = {}
        self.lifetimes = Lifetimes(self.rule.look_back)
        self.in_group: dict[int, LiveCluster] = {}
        self.position = -1
        """the largest position of a row: everything up to it has been decided"""
        self.begin()

    def begin(self) -> None:
        """Hold no clusters, in as little memory as that takes: an edition may fall silent for good."""
        known = self.background.holding
        self.window = new_window(
            match_rule(self.rule, weak=self.background.weak, signs=self.background.signs),
            np.array(self.weights.join if self.background.capitals else self.weights.caseless),
            np.array(self.weights.merge),
            self.background.headlines,
            token_ids(known),
            np.array([*known.values()], np.int64),
        )
        self.index = StoryIndex(self.rule)

    def open(self, cluster_id: str, first: tuple[int, str, str], position: int, fingerprint: int) -> LiveCluster:
        """A new cluster, for a first story of this time, id, headline and SimHash at a position."""
        group = open_cluster(self.window, first[0], position)
        opened = LiveCluster(cluster_id, group, fingerprint, first, first[0], position)
        self.clusters[cluster_id] = self.in_group[group] = opened
        return opened


def advance(state: ClusterState) -> Expired:
    """Let go of what died as stream time moved on; returns that."""
    lifetimes = state.lifetimes
    state.index.forget(forget_stories(state.window, lifetimes.horizon))
    expired = Expired([], [], [], [])
    for cluster_id in lifetimes.expire():
        dead = state.clusters.pop(cluster_id)
        drop_cluster(state.window, dead.group)
        del state.in_group[dead.group]
        expired.clusters.append(cluster_id)
        expired.clusters.extend(dead.absorbed)
        for absorbed_id in dead.absorbed:
            lifetimes.survivor.pop(absorbed_id, None)
        expired.rows.extend(dead.members)
        expired.revised.extend(filter(state.revised.__contains__, dead.members))
        expired.amendments.extend(dead.amendments)
        state.amendments.difference_update(dead.amendments)
        state.revised.difference_update(dead.members)
        state.retracted.difference_update(dead.members)
        for story_id in dead.members:
            del state.seen[story_id]
    if expired.clusters and not state.clusters:
        state.begin()
    return expired


def apply(state: ClusterState, row: Assignment, sketch: Sketch, time: int) -> None:
    """Take a decided story of `time` into the state."""
    story = row.story
    lifetimes = state.lifetimes
    first = (time, story.id, story.title)
    joined = state.clusters.get(row.cluster_id)
    if joined is None:
        joined = state.open(row.cluster_id, first, row.position, sketch.simhash)
    for absorbed_id in row.merged:
        absorb(state, joined, absorbed_id)
    for tied_id in row.tied:
        tied = state.clusters.get(tied_id)
        if tied is not None:  # else it died, and its rows with it
            tie_clusters(state.window, joined.group, tied.group)
    joined.first, joined.last = min(joined.first, first), max(joined.last, time)
    joined.position = row.position
    joined.members.append(story.id)
    family = intern(story.family)  # most come again and again
    count_publisher(joined.publishers, family)
    if story.retracted:
        _retract(state, joined, story.id, family)
    lifetimes.touch(joined.id)
    _add_story(state, row, sketch, joined, time)
    vector = pack(sketch.ids, sketch.weights, sketch.headline_length, sketch.simhash)
    state.seen[story.id] = SeenStory(time, family, joined.id, contents(story), row.position, story.title, vector)
    state.position = row.position


def revise(state: ClusterState, row: Assignment) -> None:
    """Take in that a known story was corrected or retracted."""
    story = row.story
    before = state.seen[story.id]
    of = state.clusters[state.lifetimes.resolve(before.cluster_id)]
    if story.id in state.retracted:
        state.retracted.remove(story.id)
        of.retracted -= 1
    else:
        discount_publisher(of.publishers, before.family)
    family = intern(story.family)
    count_publisher(of.publishers, family)
    if story.retracted:
        _retract(state, of, story.id, family)
    if of.first[1] == story.id:
        of.first = (before.time, story.id, story.title)
    state.revised.add(story.id)
    of.position = state.position = row.position
    state.seen[story.id] = before._replace(family=family, contents=contents(story), title=story.title)


def _retract(state: ClusterState, of: LiveCluster, story_id: str, family: str) -> None:
    state.retracted.add(story_id)
    of.retracted += 1
    discount_publisher(of.publishers, family)


def count_publisher(publishers: dict[str, int], family: str, stories: int = 1) -> None:
    """Count stories of a publisher family."""
    publishers[family] = publishers.get(family, 0) + stories


def discount_publisher(publishers: dict[str, int], family: str) -> None:
    """Take one of its stories out of the count."""
    publishers[family] -= 1
    if not publishers[family]:
        del publishers[family]


def _add_story(state: ClusterState, row: Assignment, sketch: Sketch, joined: LiveCluster, time: int) -> None:
    """Take the story into the window and the index."""
    number = add_story(
        state.window,
        sketch.keys,
        sketch.ids,
        sketch.weights,
        sketch.headline_length,
        simhash.signed(sketch.simhash),
        joined.group,
        time,
        state.lifetimes.stream_time,
    )
    state.index.add(row, number)
    joined.numbers.append(number)
    if state.rule.profile == "newshound":
        state.index.signatures[number] = sketch.signature
    if state.index.nearby is not None:
        state.index.nearby.add(number, sketch.simhash)


def absorb(state: ClusterState, survivor: LiveCluster, absorbed_id: str) -> None:
    """Add what a cluster holds to another, if it lives."""
    absorbed = state.clusters.pop(absorbed_id, None)
    if absorbed is None:
        return
    absorb_cluster(state.window, survivor.group, absorbed.group, np.array(absorbed.numbers, np.int64))
    del state.in_group[absorbed.group]
    survivor.last, survivor.opened = max(survivor.last, absorbed.last), min(survivor.opened, absorbed.opened)
    survivor.first = min(survivor.first, absorbed.first)
    survivor.members += absorbed.members
    survivor.numbers += absorbed.numbers
    survivor.absorbed += [*absorbed.absorbed, absorbed_id]
    survivor.amendments += absorbed.amendments
    survivor.retracted += absorbed.retracted
    for family, stories in absorbed.publishers.items():
        count_publisher(survivor.publishers, family, stories)
    state.lifetimes.merge(absorbed_id, survivor.id)
