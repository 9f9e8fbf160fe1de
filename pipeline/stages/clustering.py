"""The clustering of one edition: its clusters, bucket tables and word counts.

It is a function of the *set* of rows (`Assignment`) that are kept: all sums are over whole numbers, buckets rank by position,
and rows live as long as their cluster. `restore` is that function.
"""

from array import array
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import islice
from sys import intern

import numpy as np
from numpy.typing import NDArray

from pipeline.languages.background import Background
from pipeline.records import Assignment, StreamTime
from pipeline.similarity import minhash, simhash
from pipeline.similarity.buckets import SMALLEST, Keys
from pipeline.similarity.centroids import Centroids
from pipeline.similarity.items import HALF, MASK, Ids, token_ids
from pipeline.similarity.minhash_compiled import Signature
from pipeline.similarity.tfidf import BACKGROUND, EVERYWHERE
from pipeline.stages.known import Known, contents
from pipeline.stages.lifetimes import Dropped, Lifetimes, come_again
from pipeline.stages.match import keep
from pipeline.stages.matchable import Found, Matchable, story_keys
from pipeline.stages.rules import ClusterRule
from pipeline.stages.scores import FIRST, LAST, OPENED, SIZE, SQUARE, Facts
from pipeline.stages.watch import Watch
from pipeline.stages.weights import Weights, log_odds, shipped
from pipeline.times import to_micros

AT_ONCE = 1_000
"""Rows whose signatures are made at once."""


@dataclass(slots=True)
class Cluster:
    """A living cluster. The sums of its vectors are in `Edition.centroids`, its figures in `Edition.facts`."""

    id: str
    group: int
    print: int
    """SimHash of the story that opened it"""
    first: tuple[int, str, str]
    """time, id and headline of its first story"""
    position: int = -1
    members: list[str] = field(default_factory=list)
    numbers: "array[int]" = field(default_factory=lambda: array("q"))
    """their numbers in the bucket tables"""
    absorbed: list[str] = field(default_factory=list)
    """the clusters that were merged into it"""
    retracted: int = 0
    """how many of its stories are retracted"""
    publishers: dict[str, int] = field(default_factory=dict)
    """how many of its stories each publisher family has"""


class Sketch:
    """What the arrays hold of a story: its tokens, the headline's first, with their weights, band keys and SimHash."""

    __slots__ = ("held", "ids", "keys", "print", "signature", "weights")

    def __init__(
        self, ids: Ids, weights: NDArray[np.int64], held: int, keys: Keys, signature: Signature, print_: int
    ) -> None:
        self.ids = ids
        self.weights = weights
        self.held = held
        """how many of the tokens are the headline's"""
        self.keys = keys
        self.signature = signature
        self.print = print_


class Edition:
    """The clustering of one edition. It changes only by `advance` and `apply`."""

    def __init__(
        self,
        background: Background,
        rule: ClusterRule | None = None,
        weights: Weights | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.watch = watch
        self.rule = rule or ClusterRule()
        self.weights = weights or shipped()
        self.join_weights, self.merge_weights = np.array(self.weights.join), np.array(self.weights.merge)
        self.join_from, self.ask_merge_from, self.merge_from = map(
            log_odds, (self.rule.join_at, self.rule.ask_merge_at, self.rule.merge_at)
        )
        self.background = background
        self.known: dict[str, Known] = {}
        """the stories of all clusters, by their ids"""
        self.revised: set[str] = set()
        """those that were corrected or retracted ..."""
        self.retracted: set[str] = set()
        """... and those that are retracted"""
        self.clusters: dict[str, Cluster] = {}
        self.lifetimes = Lifetimes(self.rule.look_back)
        self.in_group: dict[int, Cluster] = {}
        self.found = Found(self.rule)
        self.position = -1
        """the largest position of a row: everything up to it has been decided"""
        self.begin()

    def begin(self) -> None:
        """Hold no clusters, in as little memory as that takes: an edition may fall silent for good."""
        self.centroids = Centroids()
        for group in (BACKGROUND, EVERYWHERE):
            opened = self.centroids.open()
            assert opened == group
        holding = self.background.holding
        self.centroids.count(BACKGROUND, token_ids(holding), np.array([*holding.values()], np.int64))
        self.facts: Facts = np.zeros((SMALLEST, 6), np.int64)
        self.matchable = Matchable(self.rule)

    def open(self, cluster_id: str, first: tuple[int, str, str], position: int, print_: int) -> Cluster:
        """A new cluster, for a first story of this time, id, headline and SimHash at a position."""
        opened = Cluster(cluster_id, self.centroids.open(), print_, first)
        if opened.group >= len(self.facts):
            self.facts = np.concatenate([self.facts, np.zeros_like(self.facts)])
        self.facts[opened.group] = (first[0], first[0], 0, 0, position, 0)
        self.clusters[cluster_id] = self.in_group[opened.group] = opened
        return opened


def restore(edition: Edition, rows: Iterable[Assignment | StreamTime]) -> None:
    """Build the state from the rows that were kept, which come in the order of their positions.

    Rows that should have been dropped already are dropped with the next story; until then they answer for theirs.
    """
    in_order = iter(rows)
    while part := list(islice(in_order, AT_ONCE)):
        headlines = [headline(row) if isinstance(row, Assignment) else () for row in part]
        for row, words, signature in zip(part, headlines, minhash.signatures(headlines), strict=True):
            come_again(edition.lifetimes, row)
            if isinstance(row, StreamTime):
                edition.position = row.position
                continue
            if row.revision:
                revise(edition, row)
                continue
            time = to_micros(row.story.crawled_at)
            print_ = simhash.from_hex(row.simhash)
            keys = story_keys(edition.rule, signature, print_)
            weights = np.fromiter(row.weights.values(), np.int64, len(row.weights))
            apply(edition, row, Sketch(token_ids(row.weights), weights, len(words), keys, signature, print_), time)


def advance(edition: Edition) -> Dropped:
    """Let go of what died as stream time moved on; returns that."""
    lifetimes = edition.lifetimes
    edition.matchable.forget(lifetimes.horizon)
    dropped = Dropped([], [], [])
    for cluster_id in lifetimes.expire():
        dead = edition.clusters.pop(cluster_id)
        edition.centroids.drop(dead.group, EVERYWHERE)
        del edition.in_group[dead.group]
        dropped.clusters.append(cluster_id)
        dropped.clusters.extend(dead.absorbed)
        for absorbed_id in dead.absorbed:
            lifetimes.survivor.pop(absorbed_id, None)
        dropped.rows.extend(dead.members)
        dropped.revised.extend(filter(edition.revised.__contains__, dead.members))
        edition.revised.difference_update(dead.members)
        edition.retracted.difference_update(dead.members)
        for story_id in dead.members:
            del edition.known[story_id]
    if dropped.clusters and not edition.clusters:
        edition.begin()
    return dropped


def apply(edition: Edition, row: Assignment, sketch: Sketch, time: int) -> None:
    """Take a decided story of `time` into the state."""
    story = row.story
    lifetimes = edition.lifetimes
    first = (time, story.id, story.title)
    joined = edition.clusters.get(row.cluster_id)
    if joined is None:
        joined = edition.open(row.cluster_id, first, row.position, sketch.print)
    for absorbed_id in row.merged:
        if absorbed_id in edition.clusters:
            _absorb(edition, joined, edition.clusters.pop(absorbed_id))
            lifetimes.merge(absorbed_id, joined.id)
            joined.absorbed.append(absorbed_id)
    joined.first = min(joined.first, first)
    joined.position = row.position
    joined.members.append(story.id)
    family = intern(story.family)  # most come again and again
    joined.publishers[family] = joined.publishers.get(family, 0) + 1
    if story.retracted:
        _retract(edition, joined, story.id, family)
    lifetimes.touch(joined.id)
    _keep(edition, row, sketch, joined, time)
    edition.known[story.id] = Known(time, family, joined.id, contents(story))
    edition.position = row.position


def revise(edition: Edition, row: Assignment) -> None:
    """Take in that a known story was corrected or retracted."""
    story = row.story
    before = edition.known[story.id]
    of = edition.clusters[edition.lifetimes.resolve(before.cluster_id)]
    if story.id in edition.retracted:
        edition.retracted.remove(story.id)
        of.retracted -= 1
    else:
        _take_out(of.publishers, before.family)
    family = intern(story.family)
    of.publishers[family] = of.publishers.get(family, 0) + 1
    if story.retracted:
        _retract(edition, of, story.id, family)
    if of.first[1] == story.id:
        of.first = (before.time, story.id, story.title)
    edition.revised.add(story.id)
    of.position = edition.position = row.position
    edition.known[story.id] = before._replace(family=family, contents=contents(story))


def _retract(edition: Edition, of: Cluster, story_id: str, family: str) -> None:
    edition.retracted.add(story_id)
    of.retracted += 1
    _take_out(of.publishers, family)


def _take_out(publishers: dict[str, int], family: str) -> None:
    publishers[family] -= 1
    if not publishers[family]:
        del publishers[family]


def _keep(edition: Edition, row: Assignment, sketch: Sketch, joined: Cluster, time: int) -> None:
    """Take the story into the arrays."""
    matchable, centroids = edition.matchable, edition.centroids
    number = matchable.add(row, edition.lifetimes.stream_time)
    joined.numbers.append(number)
    if edition.rule.profile == "newshound":
        matchable.signatures[number] = sketch.signature
    centroids.make_room(2 * len(sketch.ids))
    new = keep(
        number,
        matchable.buckets.head,
        matchable.buckets.node,
        sketch.keys,
        matchable.items.rows,
        centroids.owners,
        centroids.entries,
        centroids.heads,
        sketch.ids,
        sketch.weights,
        sketch.held,
        sketch.print >> HALF,
        sketch.print & MASK,
        joined.group,
        edition.facts,
        time,
    )
    centroids.made(new)


def _absorb(edition: Edition, survivor: Cluster, absorbed: Cluster) -> None:
    """Add what one cluster holds to another."""
    one, other = edition.facts[survivor.group], edition.facts[absorbed.group]
    one[FIRST], one[OPENED] = min(one[FIRST], other[FIRST]), min(one[OPENED], other[OPENED])
    one[LAST] = max(one[LAST], other[LAST])
    one[SIZE] += other[SIZE]
    one[SQUARE] += edition.centroids.merge(survivor.group, absorbed.group)
    del edition.in_group[absorbed.group]
    edition.matchable.move(absorbed.numbers, survivor.group)
    survivor.first = min(survivor.first, absorbed.first)
    survivor.members += absorbed.members
    survivor.numbers += absorbed.numbers
    survivor.absorbed += absorbed.absorbed
    survivor.retracted += absorbed.retracted
    for family, stories in absorbed.publishers.items():
        survivor.publishers[family] = survivor.publishers.get(family, 0) + stories


def headline(row: Assignment) -> Collection[str]:
    """The distinct tokens of a row's headline, in reading order."""
    return dict.fromkeys(row.story.tokens) if row.story.lead else row.weights
