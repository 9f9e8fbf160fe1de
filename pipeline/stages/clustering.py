"""The clustering of one edition: its clusters, bucket tables and word counts.

It is a function of the *set* of rows (`Assignment`) that are kept: all sums are over whole numbers, buckets rank by position,
and rows live as long as their cluster. `restore` is that function.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from pipeline.languages.background import Background
from pipeline.records import Assignment
from pipeline.similarity import minhash
from pipeline.similarity.buckets import Keys, band_keys, bucket_tables
from pipeline.stages.lifetimes import Dropped, Lifetimes
from pipeline.stages.weights import Weights, shipped
from pipeline.times import DAY, HOUR, to_micros


@dataclass(frozen=True, slots=True)
class ClusterRule:
    """How stories are matched and clusters kept; times in microseconds."""

    look_back: int = 96 * HOUR
    """how long a story can be matched, and how long a cluster lives after its last story"""
    longest_life: int = 14 * DAY
    """how long after its first story a cluster takes in stories"""
    bands: int = 60
    rows: int = 2
    bucket_capacity: int = 10
    least_cosine: float = 0.08
    """below it, with and without decay, a cluster is not considered"""
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
    """or when one's tokens, at least so many, are the beginning of the other's"""
    similar_at: float = 0.25
    """least Jaccard similarity of a similar story"""
    similar_bands: int = 2
    """... and the bands it must share to be looked at"""
    compared: int = 50
    """the most candidates that are compared token by token: those that share the most bands"""
    similar_kept: int = 10
    lead_weight: float = 0.25
    """what a word of the body's beginning weighs against one of the headline"""
    body_bands: int = 24
    body_rows: int = 5
    """bands and rows of the bucket tables of bodies: P(candidate) is .07 at Jaccard similarity .3 and .9999 at .8"""
    body_copy_at: float = 0.7
    """Jaccard similarity of bodies from which a story is a copy, whatever its headline"""


@dataclass(slots=True)
class Cluster:
    """A living cluster: sums over its rows, in whole numbers."""

    id: str
    first: tuple[int, str]
    """time and id of its first story"""
    last: int = 0
    position: int = -1
    members: list[str] = field(default_factory=list)
    sums: dict[str, int] = field(default_factory=dict)
    """the sum of its stories' vectors: the centroid, but for its length"""
    holding: dict[str, int] = field(default_factory=dict)
    """how many of its stories hold each token"""
    square: int = 0
    """the squared length of `sums`"""
    publishers: Counter[str] = field(default_factory=Counter)

    @property
    def size(self) -> int:
        """How many stories it has."""
        return len(self.members)


class Edition:
    """The clustering of one edition. It changes only by `advance` and `apply`."""

    def __init__(
        self, background: Background, rule: ClusterRule | None = None, weights: Weights | None = None
    ) -> None:
        self.rule = rule or ClusterRule()
        self.weights = weights or shipped()
        self.background = background
        self.rows: dict[str, Assignment] = {}
        self.clusters: dict[str, Cluster] = {}
        self.lifetimes = Lifetimes(self.rule.look_back)
        self.holding: Counter[str] = Counter()
        """how many of the rows hold each token"""
        self.buckets = bucket_tables(self.rule.bands, self.rule.bucket_capacity)
        self.bodies = bucket_tables(self.rule.body_bands, self.rule.bucket_capacity)
        self.matchable: dict[int, Assignment] = {}
        """the rows that the look-back still reaches, by their number in the bucket tables"""
        self.with_body: dict[int, int] = {}
        """of those the ones that have a body, by their number in the tables of bodies"""
        self._came: deque[tuple[int, int]] = deque()
        """the stream time at which each of those came, and its number"""
        self.position = -1
        """the largest position of a row: everything up to it has been decided"""

    def remember(self, row: Assignment, keys: Keys) -> None:
        """Let the row be matched for the look-back."""
        number = self.buckets.insert(keys)
        self.matchable[number] = row
        if row.body_signature is not None:
            body = self.bodies.insert(body_keys(self.rule, row.body_signature))
            self.with_body[body] = number
        self._came.append((self.lifetimes.stream_time, number))

    def forget(self, horizon: int) -> None:
        """Match no more with the rows that came before the horizon."""
        while self._came and self._came[0][0] < horizon:
            number = self._came.popleft()[1]
            row = self.matchable.pop(number)
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
        edition.lifetimes.advance(to_micros(row.story.crawled_at))
        apply(edition, row, row_keys(edition.rule, row))


def advance(edition: Edition, time: int) -> Dropped:
    """Move stream time on; returns what died of it."""
    lifetimes = edition.lifetimes
    lifetimes.advance(time)
    edition.forget(lifetimes.horizon)
    clusters: list[str] = []
    rows: list[str] = []
    for cluster_id in lifetimes.expire():
        dead = edition.clusters.pop(cluster_id)
        clusters.append(cluster_id)
        for story_id in dead.members:
            row = edition.rows.pop(story_id)
            rows.append(story_id)
            for token in headline(row):
                edition.holding[token] -= 1
                if not edition.holding[token]:
                    del edition.holding[token]
            clusters.extend(absorbed for absorbed in row.merged if lifetimes.survivor.pop(absorbed, None))
    return Dropped(clusters, rows)


def apply(edition: Edition, row: Assignment, keys: Keys) -> None:
    """Take a decided story into the state."""
    story = row.story
    time = to_micros(story.crawled_at)
    lifetimes = edition.lifetimes
    first = (time, story.id)
    joined = edition.clusters.get(row.cluster_id)
    if joined is None:
        joined = edition.clusters[row.cluster_id] = Cluster(row.cluster_id, first, time)
    for absorbed in row.merged:
        if absorbed in edition.clusters:
            absorb(joined, edition.clusters.pop(absorbed))
            lifetimes.merge(absorbed, joined.id)
    joined.first = min(joined.first, first)
    joined.last = max(joined.last, time)
    joined.position = max(joined.position, row.position)
    joined.members.append(story.id)
    joined.publishers[story.family] += 1
    joined.square += _add(joined.sums, row.weights)
    for token in headline(row):
        joined.holding[token] = joined.holding.get(token, 0) + 1
        edition.holding[token] += 1
    lifetimes.touch(joined.id)
    edition.rows[story.id] = row
    edition.remember(row, keys)
    edition.position = max(edition.position, row.position)


def absorb(survivor: Cluster, absorbed: Cluster) -> None:
    """Add what one cluster holds to another."""
    survivor.first = min(survivor.first, absorbed.first)
    survivor.last = max(survivor.last, absorbed.last)
    survivor.position = max(survivor.position, absorbed.position)
    survivor.members += absorbed.members
    survivor.publishers.update(absorbed.publishers)
    survivor.square += _add(survivor.sums, absorbed.sums)
    for token, count in absorbed.holding.items():
        survivor.holding[token] = survivor.holding.get(token, 0) + count


def _add(sums: dict[str, int], vector: dict[str, int]) -> int:
    """Add a vector to a sum of vectors in place; returns by how much the sum's squared length grew."""
    grown = 0
    for token, weight in vector.items():
        old = sums.get(token, 0)
        sums[token] = old + weight
        grown += weight * (2 * old + weight)
    return grown


def union(parts: list[Cluster]) -> Cluster:
    """The cluster that these would be together; they stay as they are."""
    union = Cluster(parts[0].id, parts[0].first)
    for part in parts:
        absorb(union, part)
    return union


def headline(row: Assignment) -> Collection[str]:
    """The distinct tokens of a row's headline."""
    return set(row.story.tokens) if row.story.lead else row.weights


def row_keys(rule: ClusterRule, row: Assignment) -> Keys:
    """The band keys of a row, from its tokens."""
    return band_keys(minhash.signature(headline(row)), rule.bands, rule.rows)


def body_keys(rule: ClusterRule, signature: bytes) -> Keys:
    """The band keys of a body's signature."""
    return band_keys(minhash.from_bytes(signature), rule.body_bands, rule.body_rows)
