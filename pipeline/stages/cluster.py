"""Cluster: a fingerprinted story joins the cluster of its event, or opens one; clusters that prove to be one are merged.

For each story:

1. Stream time moves on, and clusters without a story for the look-back are dropped with their rows.
2. The bucket tables name candidate stories: those that share a band of the MinHash signature.
3. The candidates are ranked by Jaccard similarity; a close one makes the story a near-duplicate.
4. The clusters of the candidates are compared with the story by the cosine of TF-IDF vectors; the best few get a learned
   join score. The story joins the best if that is more likely than not, else it opens a cluster of its own.
5. The joined cluster and each other that the story might belong to get a learned merge score; a high one merges them.
   The older cluster's id survives.

The state of an edition is a function of the set of its rows (`Assignment`), whatever order they came in: all sums are over
whole numbers, buckets rank by time, and rows live as long as their cluster. `restore` is that function.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import nlargest

from pipeline import records
from pipeline.languages.background import Background
from pipeline.records import Assignment, Fingerprint, NormalisedStory, Similar
from pipeline.similarity import minhash, simhash
from pipeline.similarity.buckets import BucketTables, band_keys
from pipeline.similarity.tfidf import UNIT, dot, inverse_document_frequency, unit_vector
from pipeline.stages.lifetimes import Dropped, Lifetimes
from pipeline.stages.scores import JoinWeights, MergeWeights, log_odds, probability, shipped
from pipeline.times import DAY, HOUR, from_micros, to_micros


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
    """Jaccard similarity from which a story is a near-duplicate ..."""
    duplicate_bits: int = 3
    """... or SimHash distance up to which it is one"""
    similar_at: float = 0.25
    """least Jaccard similarity of a similar story"""
    similar_bands: int = 2
    """... and the bands it must share to be looked at"""
    similar_kept: int = 10


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

    def __init__(self, background: Background, rule: ClusterRule | None = None) -> None:
        self.rule = rule or ClusterRule()
        self.background = background
        self.rows: dict[str, Assignment] = {}
        self.clusters: dict[str, Cluster] = {}
        self.lifetimes = Lifetimes(self.rule.look_back)
        self.holding: Counter[str] = Counter()
        """how many of the rows hold each token"""
        self.buckets = BucketTables(self.rule.bands, self.rule.bucket_capacity)
        self.keys: dict[str, list[bytes]] = {}
        """the band keys of each row"""
        self.position = -1
        """the largest position of a row: everything up to it has been decided"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What clustering one story brought."""

    assignment: Assignment
    clusters: list[records.Cluster]
    """the new state of each cluster that changed"""
    dropped: Dropped


def cluster(edition: Edition, fingerprint: Fingerprint, position: int) -> Outcome | None:
    """Put a story in its cluster; `position` is the offset of its record in the log, and orders all decisions.

    A record that was decided before (it is delivered again after a crash) gets the same answer from its row, or None when
    the row has gone: rows go only after their answer is safe. A second story of a known id changes nothing: None.
    """
    story = fingerprint.story
    row = edition.rows.get(story.id)
    if position <= edition.position:
        return (
            None if row is None or row.position != position else Outcome(row, _changed(edition, row), Dropped([], []))
        )
    if row is not None:
        return None
    dropped = advance(edition, to_micros(story.crawled_at))
    assignment = decide(edition, fingerprint, position)
    apply(
        edition, assignment, band_keys(minhash.from_bytes(fingerprint.signature), edition.rule.bands, edition.rule.rows)
    )
    return Outcome(assignment, _changed(edition, assignment), dropped)


def restore(edition: Edition, rows: Iterable[Assignment]) -> None:
    """Build the state from the rows that were kept.

    Rows that should have been dropped already are dropped with the next story; until then they answer for theirs.
    """
    for row in sorted(rows, key=lambda row: row.position):
        apply(edition, row, _row_keys(edition.rule, row))
        edition.lifetimes.advance(to_micros(row.story.crawled_at))


def advance(edition: Edition, time: int) -> Dropped:
    """Move stream time on; returns what died of it."""
    lifetimes = edition.lifetimes
    lifetimes.advance(time)
    clusters: list[str] = []
    rows: list[str] = []
    for cluster_id in lifetimes.expire():
        dead = edition.clusters.pop(cluster_id)
        clusters.append(cluster_id)
        for story_id in dead.members:
            row = edition.rows.pop(story_id)
            rows.append(story_id)
            for token in row.weights:
                edition.holding[token] -= 1
                if not edition.holding[token]:
                    del edition.holding[token]
            edition.buckets.remove(edition.keys.pop(story_id), to_micros(row.story.crawled_at), story_id)
            clusters.extend(absorbed for absorbed in row.merged if lifetimes.survivor.pop(absorbed, None))
    return Dropped(clusters, rows)


def decide(edition: Edition, fingerprint: Fingerprint, position: int) -> Assignment:
    """The cluster a story belongs to, as the edition stands. Changes nothing."""
    story = fingerprint.story
    rule = edition.rule
    counts = Counter(story.tokens)
    idf = _idf(edition, counts)
    weights = unit_vector(counts, idf)
    keys = band_keys(minhash.from_bytes(fingerprint.signature), rule.bands, rule.rows)
    candidates = edition.buckets.query(keys, edition.lifetimes.horizon) if counts else {}
    similar, duplicate_of = _rank(edition, candidates, story, simhash.from_hex(fingerprint.simhash))
    chosen, merged = _choose(edition, candidates, story, weights, idf)
    return Assignment(
        story=story,
        simhash=fingerprint.simhash,
        position=position,
        cluster_id=chosen or _new_id(story.id),
        merged=merged,
        weights=weights,
        similar=similar,
        duplicate_of=duplicate_of,
        late=to_micros(story.crawled_at) < edition.lifetimes.horizon,
    )


def apply(edition: Edition, row: Assignment, keys: list[bytes]) -> None:
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
            _absorb(joined, edition.clusters.pop(absorbed))
            lifetimes.merge(absorbed, joined.id)
    joined.first = min(joined.first, first)
    joined.last = max(joined.last, time)
    joined.position = max(joined.position, row.position)
    joined.members.append(story.id)
    joined.publishers[story.publisher] += 1
    joined.square += _add(joined.sums, row.weights)
    for token in row.weights:
        joined.holding[token] = joined.holding.get(token, 0) + 1
        edition.holding[token] += 1
    lifetimes.touch(joined.id, time)
    edition.rows[story.id] = row
    edition.keys[story.id] = keys
    edition.buckets.insert(keys, time, story.id)
    edition.position = max(edition.position, row.position)


def _absorb(survivor: Cluster, absorbed: Cluster) -> None:
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


def _idf(edition: Edition, tokens: Iterable[str]) -> dict[str, float]:
    """How much each token of a new story tells, the story itself counted."""
    documents = edition.background.headlines + len(edition.rows) + 1
    before, now = edition.background.holding, edition.holding
    return {
        token: inverse_document_frequency(documents, before.get(token, 0) + now.get(token, 0) + 1) for token in tokens
    }


def _rank(
    edition: Edition, candidates: dict[str, int], story: NormalisedStory, print_: int
) -> tuple[list[Similar], str | None]:
    """The similar stories, best first, and the first story that this one is a near-duplicate of."""
    rule = edition.rule
    tokens = set(story.tokens)
    size = len(tokens)
    scored: list[tuple[float, str]] = []
    for story_id, shared_bands in candidates.items():
        if shared_bands < rule.similar_bands:
            continue
        others = edition.rows[story_id].weights
        shared = len(tokens.intersection(others))
        score = shared / (size + len(others) - shared)
        if score >= rule.similar_at:
            scored.append((-score, story_id))
    scored.sort()
    ranked = [(-score, edition.rows[story_id]) for score, story_id in scored[: rule.similar_kept]]
    originals = [
        row.duplicate_of or row.story.id
        for score, row in ranked
        if score >= rule.duplicate_at or simhash.distance(print_, simhash.from_hex(row.simhash)) <= rule.duplicate_bits
    ]
    similar = [Similar(story_id=row.story.id, score=round(score, 4)) for score, row in ranked]
    return similar, originals[0] if originals else None


def _choose(
    edition: Edition, candidates: dict[str, int], story: NormalisedStory, weights: dict[str, int], idf: dict[str, float]
) -> tuple[str | None, list[str]]:
    """The cluster to join, None for a new one, and the clusters to merge into it."""
    rule = edition.rule
    join, merge = shipped()
    time = to_micros(story.crawled_at)
    scored = sorted(
        (
            (_join_score(join, edition, near, cosine, story, idf, time), near)
            for cosine, near in _nearest(edition, candidates, weights, time)
        ),
        key=lambda scored: (-scored[0], scored[1].id),
    )
    if not scored or scored[0][0] < log_odds(rule.join_at):
        return None, []
    best_score, best = scored[0]
    parts = [best]
    for score, other in scored[1:]:
        if score < log_odds(rule.ask_merge_at):
            break
        whole = best if len(parts) == 1 else _union(parts)
        larger, smaller = (whole, other) if whole.size >= other.size else (other, whole)
        if _merge_score(merge, larger, smaller, probability(best_score), probability(score)) >= log_odds(rule.merge_at):
            parts.append(other)
    survivor = min(parts, key=lambda part: (part.first, part.id))
    return survivor.id, [part.id for part in parts if part is not survivor]


def _nearest(
    edition: Edition, candidates: dict[str, int], weights: dict[str, int], time: int
) -> list[tuple[float, Cluster]]:
    """The few clusters of the candidates that are nearest to the story, each with its cosine."""
    rule = edition.rule
    rows, resolve = edition.rows, edition.lifetimes.resolve
    joined = {rows[story_id].cluster_id for story_id in candidates}
    ids = {resolve(cluster_id) for cluster_id in joined}
    found: list[tuple[float, str, float]] = []
    for cluster_id in ids:
        near = edition.clusters[cluster_id]
        if time - near.first[0] > rule.longest_life:
            continue
        cosine = dot(weights, near.sums) / (UNIT * math.sqrt(near.square))
        if cosine >= rule.least_cosine:
            decayed = cosine * math.exp(-max(0, time - near.last) / rule.decay)
            if decayed >= rule.least_cosine:
                found.append((decayed, cluster_id, cosine))
    return [(cosine, edition.clusters[cluster_id]) for _, cluster_id, cosine in nlargest(rule.considered, found)]


def _join_score(
    weight: JoinWeights,
    edition: Edition,
    near: Cluster,
    cosine: float,
    story: NormalisedStory,
    idf: dict[str, float],
    time: int,
) -> float:
    """Log-odds that the story belongs to the cluster."""
    size = near.size
    documents = edition.background.headlines + len(edition.rows) + 1
    marked_tokens = set(story.marked)
    often = max(1.0, 0.1 * size)
    specificity = marked = coverage = 0.0
    common = 0
    for token, worth in idf.items():
        holding = near.holding.get(token)
        if not holding:
            continue
        everywhere = edition.background.holding.get(token, 0) + edition.holding[token] + 1
        specificity += math.log1p(0.5 / (size + 2.0) * documents * holding / everywhere)
        coverage += worth
        if token in marked_tokens:
            marked += worth * holding / size
        if holding >= often:
            common += 1
    return (
        weight.bias
        + weight.cosine * math.log(cosine + 0.01)
        + weight.gap * _log_hours(max(0, time - near.last))
        + weight.size * math.log(size)
        + weight.age * _log_hours(max(0, time - near.first[0]))
        + weight.specificity * specificity / len(idf)
        + weight.marked * marked
        + weight.common * common
        + weight.coverage * coverage / sum(idf.values())
        + weight.length * len(idf)
    )


def _merge_score(weight: MergeWeights, larger: Cluster, smaller: Cluster, best_join: float, other_join: float) -> float:
    """Log-odds that the two clusters are about one event."""
    across = dot(larger.sums, smaller.sums)
    cosine = across / math.sqrt(larger.square * smaller.square)
    mean_across = across / (UNIT * UNIT * larger.size * smaller.size)
    within = math.sqrt(max(_inner_similarity(larger), 0.01) * max(_inner_similarity(smaller), 0.01))
    first, last = min(larger.first[0], smaller.first[0]), max(larger.last, smaller.last)
    return (
        weight.bias
        + weight.cosine * math.log(cosine + 0.01)
        + weight.smaller_size * math.log(smaller.size)
        + weight.larger_coherence * math.sqrt(larger.square) / (UNIT * larger.size)
        + weight.smaller_coherence * math.sqrt(smaller.square) / (UNIT * smaller.size)
        + weight.best_join * best_join
        + weight.other_join * other_join
        + weight.start_gap * _log_hours(abs(larger.first[0] - smaller.first[0]))
        + weight.span * _log_hours(last - first)
        + weight.last_gap * _log_hours(abs(larger.last - smaller.last))
        + weight.affinity * math.log((mean_across + 0.005) / (within + 0.005))
    )


def _inner_similarity(of: Cluster) -> float:
    """The mean cosine of two different stories of a cluster; 0.2, a typical value, where there is only one."""
    size = of.size
    return (of.square / (UNIT * UNIT) - size) / (size * (size - 1)) if size > 1 else 0.2


def _log_hours(micros: int) -> float:
    return math.log1p(micros / HOUR)


def _union(parts: list[Cluster]) -> Cluster:
    """The cluster that these would be together; they stay as they are."""
    union = Cluster(parts[0].id, parts[0].first)
    for part in parts:
        _absorb(union, part)
    return union


def _row_keys(rule: ClusterRule, row: Assignment) -> list[bytes]:
    return band_keys(minhash.signature(row.weights.keys()), rule.bands, rule.rows)


def _new_id(story_id: str) -> str:
    """The id of the cluster that a story opens: deterministic, and different for every story."""
    return "c" + blake2b(story_id.encode(), digest_size=8).hexdigest()


def _changed(edition: Edition, row: Assignment) -> list[records.Cluster]:
    """The state of each cluster that the row touched, merged ones first."""
    return list(_records(edition, row))


def _records(edition: Edition, row: Assignment) -> Iterator[records.Cluster]:
    for absorbed in row.merged:
        yield records.Cluster(
            id=absorbed,
            edition=row.story.edition,
            position=row.position,
            stories=0,
            publishers=0,
            merged_into=row.cluster_id,
        )
    now = edition.clusters[edition.lifetimes.resolve(row.cluster_id)]
    yield records.Cluster(
        id=now.id,
        edition=row.story.edition,
        position=now.position,
        stories=now.size,
        publishers=len(now.publishers),
        headline=edition.rows[now.first[1]].story.title,
        first_seen=from_micros(now.first[0]),
        last_seen=from_micros(now.last),
    )
