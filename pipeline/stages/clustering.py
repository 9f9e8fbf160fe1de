"""The clustering of one edition: its clusters, bucket tables and word counts.

It is a function of the *set* of rows (`Assignment`) that are kept: all sums are over whole numbers, buckets rank by position,
and rows live as long as their cluster. `restore` is that function.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pipeline.languages.background import Background
from pipeline.records import Assignment
from pipeline.similarity import minhash, simhash
from pipeline.similarity.buckets import BucketTables, Keys, band_keys, xor_keys
from pipeline.similarity.centroids import Centroids
from pipeline.similarity.items import Ids, Items, token_ids
from pipeline.stages.lifetimes import Dropped, Lifetimes
from pipeline.stages.scores import Facts
from pipeline.stages.watch import Watch
from pipeline.stages.weights import Weights, log_odds, shipped
from pipeline.times import DAY, HOUR, to_micros


@dataclass(frozen=True, slots=True)
class ClusterRule:
    """How stories are matched and clusters kept; times in microseconds."""

    profile: str = "newsburst"
    """which rules decide: see `pipeline.stages.profiles`"""
    look_back: int = 96 * HOUR
    """how long a story can be matched, and how long a cluster lives after its last story"""
    longest_life: int = 14 * DAY
    """how long after its first story a cluster takes in stories"""
    largest: int = 30_000
    """how many stories it takes in: what the sums of its vectors are made for"""
    bands: int = 60
    rows: int = 2
    bucket_capacity: int = 10
    least_cosine: float = 0.08
    """below it, with decay, a cluster is not considered"""
    decay: int = 24 * HOUR
    """in the choice of clusters to score, cosine falls by e in this time without a story"""
    considered: int = 4
    """clusters that get a join score"""
    join_at: float = 0.5
    ask_merge_at: float = 0.3
    """join probability from which another cluster is considered for a merge"""
    merge_at: float = 0.55
    duplicate_at: float = 0.8
    """Jaccard similarity from which a story is a near-duplicate, whatever else"""
    duplicate_bits: int = 3
    """SimHash distance up to which it is one ..."""
    duplicate_bits_at: float = 0.6
    """... with at least this Jaccard similarity: both sketches agree"""
    duplicate_beginning: int = 5
    """or when one's tokens, at least so many, are the beginning of the other's ..."""
    duplicate_least: float = 0.4
    """... and at least this share of them"""
    similar_bits: int = 7
    """SimHash distance up to which stories are similar, where that is the rule"""
    blocks: tuple[int, ...] = simhash.BLOCKS_4_X_16
    """bits of the blocks by which such stories are found"""
    similar_at: float = 0.25
    """least Jaccard similarity of a similar story"""
    similar_bands: int = 2
    """... and the bands it must share to be looked at"""
    similar_kept: int = 10
    lead_weight: float = 0.25
    """what a word of the body's beginning weighs against one of the headline"""
    body_bands: int = 24
    body_rows: int = 5
    """bands and rows of the bucket tables of bodies: P(candidate) is .06 at Jaccard similarity .3 and .9999 at .8"""
    body_copy_at: float = 0.7
    """Jaccard similarity of bodies from which a story is a copy, whatever its headline"""


@dataclass(slots=True)
class Cluster:
    """A living cluster. The sums of its vectors are in `Edition.centroids`, its figures in `Edition.facts`."""

    id: str
    group: int
    first: tuple[int, str]
    """time and id of its first story"""
    last: int = 0
    position: int = -1
    opened: int = 0
    """the least position of its stories"""
    members: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    """their numbers in the bucket tables"""
    square: int = 0
    """the squared length of the sum of its vectors"""
    publishers: Counter[str] = field(default_factory=Counter)

    @property
    def size(self) -> int:
        """How many stories it has."""
        return len(self.members)


class Sketch:
    """What the arrays hold of a story: its tokens, the headline's first, with their weights, and its band keys."""

    __slots__ = ("held", "ids", "keys", "signature", "weights")

    def __init__(self, weights: dict[str, int], held: int, keys: Keys, signature: NDArray[np.uint32]) -> None:
        self.ids: Ids = token_ids(weights)
        self.weights: NDArray[np.int64] = np.fromiter(weights.values(), np.int64, len(weights))
        self.held = held
        """how many of the tokens are the headline's"""
        self.keys = keys
        self.signature = signature


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
        self.join_weights = np.array(self.weights.join)
        self.join_from, self.ask_merge_from, self.merge_from = map(
            log_odds, (self.rule.join_at, self.rule.ask_merge_at, self.rule.merge_at)
        )
        self.background = background
        self.rows: dict[str, Assignment] = {}
        self.clusters: dict[str, Cluster] = {}
        self.lifetimes = Lifetimes(self.rule.look_back)
        self.holding: Counter[str] = Counter()
        """how many of the rows hold each token in the headline"""
        self.centroids = Centroids()
        self.facts: Facts = np.zeros((256, 5), np.int64)
        self.in_group: dict[int, Cluster] = {}
        self.matchable = Matchable(self.rule)
        self.position = -1
        """the largest position of a row: everything up to it has been decided"""

    def note(self, cluster: Cluster) -> None:
        """Bring the cluster's line in the table of figures up to date."""
        if cluster.group >= len(self.facts):
            self.facts = np.concatenate([self.facts, np.zeros_like(self.facts)])
        self.facts[cluster.group] = (cluster.first[0], cluster.last, cluster.size, cluster.square, cluster.opened)


class Matchable:
    """The stories that the look-back still reaches: those that a new one can be matched with."""

    def __init__(self, rule: ClusterRule) -> None:
        self._rule = rule
        self.buckets = BucketTables(rule.bands, rule.bucket_capacity)
        self.bodies = BucketTables(rule.body_bands, rule.bucket_capacity)
        self.items = Items()
        self.rows: dict[int, Assignment] = {}
        """by number in `buckets`"""
        self.with_body: dict[int, Assignment] = {}
        """by number in `bodies`"""
        self.signatures: dict[int, NDArray[np.uint32]] = {}
        """by number in `buckets`, for the profile that compares them"""
        self._came: deque[tuple[int, int]] = deque()
        """the stream time at which each came, and its number"""

    def add(self, row: Assignment, sketch: Sketch, group: int, stream_time: int) -> int:
        """Let a story be matched; returns its number."""
        number = self.buckets.insert(sketch.keys)
        self.items.put(number, sketch.ids[: sketch.held], group, self.buckets.oldest)
        self.rows[number] = row
        self._came.append((stream_time, number))
        if self._rule.profile == "newshound":
            self.signatures[number] = sketch.signature
        if row.body_signature is not None:
            self.with_body[self.bodies.insert(body_keys(self._rule, row.body_signature))] = row
        return number

    def move(self, numbers: list[int], group: int) -> None:
        """The stories with these numbers are in another group now."""
        self.items.move([number for number in numbers if number >= self.buckets.oldest], group)

    def forget(self, horizon: int) -> None:
        """Match no more with the stories that came before the horizon."""
        while self._came and self._came[0][0] < horizon:
            number = self._came.popleft()[1]
            row = self.rows.pop(number)
            self.signatures.pop(number, None)
            self.buckets.forget(number + 1)
            if row.body_signature is not None:
                body = next(iter(self.with_body))
                del self.with_body[body]
                self.bodies.forget(body + 1)


def restore(edition: Edition, rows: Iterable[Assignment]) -> None:
    """Build the state from the rows that were kept.

    Rows that should have been dropped already are dropped with the next story; until then they answer for theirs.
    """
    for row in sorted(rows, key=lambda row: row.position):
        time = to_micros(row.story.crawled_at)
        edition.lifetimes.advance(time)
        words = headline(row)
        signature = minhash.signature(words)
        keys = story_keys(edition.rule, signature, row.simhash)
        apply(edition, row, Sketch(row.weights, len(words), keys, signature), time)


def advance(edition: Edition, time: int) -> Dropped:
    """Move stream time on; returns what died of it."""
    lifetimes = edition.lifetimes
    lifetimes.advance(time)
    edition.matchable.forget(lifetimes.horizon)
    clusters: list[str] = []
    rows: list[str] = []
    for cluster_id in lifetimes.expire():
        dead = edition.clusters.pop(cluster_id)
        edition.centroids.drop(dead.group)
        del edition.in_group[dead.group]
        clusters.append(cluster_id)
        rows += dead.members
        for row in _take(edition, dead.members):
            clusters.extend(absorbed for absorbed in row.merged if lifetimes.survivor.pop(absorbed, None))
    return Dropped(clusters, rows)


def _take(edition: Edition, members: list[str]) -> Iterator[Assignment]:
    """Take the rows of these stories out of the edition."""
    for story_id in members:
        row = edition.rows.pop(story_id)
        for token in headline(row):
            edition.holding[token] -= 1
            if not edition.holding[token]:
                del edition.holding[token]
        yield row


def apply(edition: Edition, row: Assignment, sketch: Sketch, time: int) -> None:
    """Take a decided story of `time` into the state."""
    story = row.story
    lifetimes = edition.lifetimes
    joined = edition.clusters.get(row.cluster_id)
    if joined is None:
        joined = Cluster(row.cluster_id, edition.centroids.open(), (time, story.id), time, opened=row.position)
        edition.clusters[joined.id] = edition.in_group[joined.group] = joined
    for absorbed_id in row.merged:
        if absorbed_id in edition.clusters:
            _absorb(edition, joined, edition.clusters.pop(absorbed_id))
            lifetimes.merge(absorbed_id, joined.id)
    first = (time, story.id)
    joined.first = min(joined.first, first)
    joined.last = max(joined.last, time)
    joined.position = max(joined.position, row.position)
    joined.members.append(story.id)
    joined.publishers[story.family] += 1
    joined.square += edition.centroids.add(joined.group, sketch.ids, sketch.weights, sketch.held)
    for token in headline(row):
        edition.holding[token] += 1
    lifetimes.touch(joined.id)
    joined.numbers.append(edition.matchable.add(row, sketch, joined.group, lifetimes.stream_time))
    edition.note(joined)
    edition.rows[story.id] = row
    edition.position = max(edition.position, row.position)


def _absorb(edition: Edition, survivor: Cluster, absorbed: Cluster) -> None:
    """Add what one cluster holds to another."""
    survivor.square += absorbed.square + 2 * edition.centroids.dot(survivor.group, absorbed.group)
    edition.centroids.merge(survivor.group, absorbed.group)
    del edition.in_group[absorbed.group]
    edition.matchable.move(absorbed.numbers, survivor.group)
    survivor.first = min(survivor.first, absorbed.first)
    survivor.last = max(survivor.last, absorbed.last)
    survivor.position = max(survivor.position, absorbed.position)
    survivor.opened = min(survivor.opened, absorbed.opened)
    survivor.members += absorbed.members
    survivor.numbers += absorbed.numbers
    survivor.publishers.update(absorbed.publishers)


def headline(row: Assignment) -> Collection[str]:
    """The distinct tokens of a row's headline, in reading order."""
    return dict.fromkeys(row.story.tokens) if row.story.lead else row.weights


def body_keys(rule: ClusterRule, signature: bytes) -> Keys:
    """The band keys of a body's signature."""
    return band_keys(minhash.from_bytes(signature), rule.body_bands, rule.body_rows)


def story_keys(rule: ClusterRule, signature: NDArray[np.uint32], print_: str) -> Keys:
    """The band keys of a story, from its MinHash signature or its SimHash, as the profile has it."""
    if rule.profile == "hu-you":
        return simhash.block_keys(simhash.from_hex(print_), rule.blocks)
    if rule.profile == "newshound":
        return xor_keys(signature, rule.bands, rule.rows)
    return band_keys(signature, rule.bands, rule.rows)
