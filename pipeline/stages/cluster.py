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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nlargest

from pipeline import records
from pipeline.records import Assignment, Fingerprint, NormalisedStory, Similar
from pipeline.similarity import minhash, simhash
from pipeline.similarity.buckets import Keys, band_keys
from pipeline.similarity.tfidf import UNIT, damped, unit_vector
from pipeline.stages.clustering import (
    Cluster,
    ClusterRule,
    Edition,
    advance,
    apply,
    body_keys,
    headline,
    union,
)
from pipeline.stages.lifetimes import Dropped
from pipeline.stages.scores import Token, join_score, merge_score, weigh
from pipeline.stages.weights import log_odds, probability
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


def decide(edition: Edition, fingerprint: Fingerprint, keys: Keys, position: int) -> Assignment:
    """The cluster that a story with these band keys belongs to, as the edition stands. Changes nothing."""
    story = fingerprint.story
    counts = Counter(story.tokens)
    tokens = weigh(edition, counts, story.marked)
    weights = _vector(edition, counts, tokens, story.lead)
    candidates = edition.buckets.query(keys) if counts else {}
    similar, duplicate_of = _rank(edition, candidates, story, simhash.from_hex(fingerprint.simhash))
    body = None if fingerprint.body_signature is None else _same_body(edition, fingerprint.body_signature)
    if body is not None:
        duplicate_of = body.duplicate_of or body.story.id
        chosen, merged = edition.lifetimes.resolve(body.cluster_id), list[str]()
    else:
        chosen, merged = _choose(edition, candidates, to_micros(story.crawled_at), tokens, weights)
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
        body_signature=fingerprint.body_signature,
    )


def _vector(edition: Edition, counts: Mapping[str, int], tokens: list[Token], lead: list[str]) -> dict[str, int]:
    """The TF-IDF vector of a story: the words of its headline, and with less weight those its body begins with."""
    raw = {token.text: damped(counts[token.text]) * token.idf for token in tokens}
    if lead:
        others = Counter(token for token in lead if token not in raw)
        for token in weigh(edition, others, ()):
            raw[token.text] = edition.rule.lead_weight * damped(others[token.text]) * token.idf
    return unit_vector(raw)


def _same_body(edition: Edition, signature: bytes) -> Assignment | None:
    """The matchable story whose body this one's is a copy of: the most similar, then the first."""
    rule, own = edition.rule, minhash.from_bytes(signature)
    found: list[tuple[float, int, Assignment]] = []
    for body in edition.bodies.query(body_keys(rule, signature)):
        row = edition.matchable[edition.with_body[body]]
        assert row.body_signature is not None
        found.append((-minhash.similarity(own, minhash.from_bytes(row.body_signature)), row.position, row))
    found.sort()
    return found[0][2] if found and -found[0][0] >= rule.body_copy_at else None


def _rank(
    edition: Edition, candidates: dict[int, int], story: NormalisedStory, print_: int
) -> tuple[list[Similar], str | None]:
    """The similar stories, best first, and the first story that this one is a near-duplicate of."""
    rule, matchable = edition.rule, edition.matchable
    tokens = set(story.tokens)
    size = len(tokens)
    close = [number for number, shared_bands in candidates.items() if shared_bands >= rule.similar_bands]
    if len(close) > rule.compared:
        close = nlargest(rule.compared, close, key=lambda number: (candidates[number], number))
    scored: list[tuple[float, str, Assignment]] = []
    for number in close:
        row = matchable[number]
        others = headline(row)
        shared = len(tokens.intersection(others))
        score = shared / (size + len(others) - shared)
        if score >= rule.similar_at:
            scored.append((-score, row.story.id, row))
    scored.sort()
    ranked = [(-score, row) for score, _, row in scored[: rule.similar_kept]]
    similar = [Similar(story_id=row.story.id, score=round(score, 4)) for score, row in ranked]
    for score, row in ranked:
        if is_copy(rule, score, simhash.distance(print_, simhash.from_hex(row.simhash)), story.tokens, row.story.tokens):
            return similar, row.duplicate_of or row.story.id
    return similar, None


def is_copy(rule: ClusterRule, jaccard: float, distance: int, tokens: list[str], earlier: list[str]) -> bool:
    """Whether a headline is a near-duplicate of an earlier one.

    It is when most words are the same; when both sketches agree that few differ; or when one headline is the beginning of
    the other: cut short by a feed, or with a suffix added.
    """
    if jaccard >= rule.duplicate_at:
        return True
    if distance <= rule.duplicate_bits and jaccard >= rule.duplicate_bits_at:
        return True
    shorter, longer = sorted((tokens, earlier), key=len)
    return len(shorter) >= rule.duplicate_beginning and longer[: len(shorter)] == shorter


def _choose(
    edition: Edition, candidates: dict[int, int], time: int, tokens: list[Token], weights: dict[str, int]
) -> tuple[str | None, list[str]]:
    """The cluster to join, None for a new one, and the clusters to merge into it."""
    rule, weight = edition.rule, edition.weights
    scored = [
        (-join_score(weight.join, tokens, near, cosine, time), near.id, near)
        for cosine, near in _nearest(edition, candidates, weights, time)
    ]
    scored.sort()
    if not scored or -scored[0][0] < log_odds(rule.join_at):
        return None, []
    best = scored[0][2]
    best_join = probability(-scored[0][0])
    parts = [best]
    for score, _, other in scored[1:]:
        if -score < log_odds(rule.ask_merge_at):
            break
        whole = best if len(parts) == 1 else union(parts)
        larger, smaller = (whole, other) if whole.size >= other.size else (other, whole)
        if merge_score(weight.merge, larger, smaller, best_join, probability(-score)) >= log_odds(rule.merge_at):
            parts.append(other)
    survivor = min(parts, key=lambda part: (part.first, part.id))
    return survivor.id, [part.id for part in parts if part is not survivor]


def _nearest(
    edition: Edition, candidates: dict[int, int], weights: dict[str, int], time: int
) -> list[tuple[float, Cluster]]:
    """The few clusters of the candidates that are nearest to the story, each with its cosine."""
    rule, matchable, clusters, resolve = edition.rule, edition.matchable, edition.clusters, edition.lifetimes.resolve
    ids = {resolve(cluster_id) for cluster_id in {matchable[number].cluster_id for number in candidates}}
    found: list[tuple[float, str, float]] = []
    for cluster_id in ids:
        near = clusters[cluster_id]
        if time - near.first[0] > rule.longest_life:
            continue
        sums = near.sums
        product = 0
        for token, amount in weights.items():
            if token in sums:
                product += amount * sums[token]
        cosine = product / (UNIT * math.sqrt(near.square))
        if cosine >= rule.least_cosine:
            decayed = cosine * math.exp(-max(0, time - near.last) / rule.decay)
            if decayed >= rule.least_cosine:
                found.append((decayed, cluster_id, cosine))
    if len(found) > rule.considered:
        found = nlargest(rule.considered, found)
    return [(cosine, clusters[cluster_id]) for _, cluster_id, cosine in found]


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
