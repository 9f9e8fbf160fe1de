"""Cluster: a fingerprinted story joins the cluster of its event, or opens one; clusters that prove to be one are merged.

For each story:

1. Stream time moves on, and clusters without a story for the look-back are dropped with their rows.
2. The bucket tables name candidate stories: those that share a band of the MinHash signature.
3. The candidates are ranked by Jaccard similarity; a close one makes the story a near-duplicate.
4. The clusters of the candidates are compared with the story by the cosine of TF-IDF vectors; the best few get a learned
   join score. The story joins the best if that is more likely than not, else it opens a cluster of its own.
5. The joined cluster and each other that the story might belong to get a learned merge score; a high one merges them.
   The older cluster's id survives.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nlargest

from pipeline import records
from pipeline.records import Assignment, Fingerprint, NormalisedStory, Similar
from pipeline.similarity import minhash, simhash
from pipeline.similarity.buckets import band_keys
from pipeline.similarity.tfidf import UNIT, dot, inverse_document_frequency, unit_vector
from pipeline.stages.clustering import Cluster, Edition, advance, apply, union
from pipeline.stages.lifetimes import Dropped
from pipeline.stages.scores import join_score, log_odds, merge_score, probability, shipped
from pipeline.times import from_micros, to_micros


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
    keys = band_keys(minhash.from_bytes(fingerprint.signature), edition.rule.bands, edition.rule.rows)
    assignment = decide(edition, fingerprint, keys, position)
    apply(edition, assignment, keys)
    return Outcome(assignment, _changed(edition, assignment), dropped)


def decide(edition: Edition, fingerprint: Fingerprint, keys: list[bytes], position: int) -> Assignment:
    """The cluster that a story with these band keys belongs to, as the edition stands. Changes nothing."""
    story = fingerprint.story
    counts = Counter(story.tokens)
    idf = _idf(edition, counts)
    weights = unit_vector(counts, idf)
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
            (join_score(join, edition, near, cosine, story, idf, time), near)
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
        whole = best if len(parts) == 1 else union(parts)
        larger, smaller = (whole, other) if whole.size >= other.size else (other, whole)
        if merge_score(merge, larger, smaller, probability(best_score), probability(score)) >= log_odds(rule.merge_at):
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
