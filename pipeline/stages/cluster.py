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

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import msgspec
import numpy as np

from pipeline import records
from pipeline.records import Assignment, Fingerprint, Similar
from pipeline.similarity import minhash, simhash
from pipeline.similarity.items import token_ids
from pipeline.similarity.tfidf import weigh
from pipeline.stages import papers
from pipeline.stages.choice import Choice
from pipeline.stages.clustering import Cluster, Edition, Sketch, advance, apply
from pipeline.stages.lifetimes import Dropped
from pipeline.stages.match import match
from pipeline.stages.matchable import body_keys, story_keys
from pipeline.stages.rules import ClusterRule
from pipeline.stages.scores import Extent, joined, merge_features, merge_score
from pipeline.stages.weights import JoinWeights, probability
from pipeline.times import from_micros, to_micros

NOTHING = (np.empty(0, np.int64), np.empty(0, np.int64))
"""No candidates."""
JOIN_FEATURES = len(JoinWeights._fields)


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
    time = to_micros(story.crawled_at)
    if position <= edition.position:
        if row is None or row.position != position:
            return None
        return Outcome(row, _changed(edition, row, time), Dropped([], []))
    if row is not None:
        return None
    dropped = advance(edition, time)
    assignment, sketch = decide(edition, fingerprint, position, time)
    apply(edition, assignment, sketch, time)
    return Outcome(assignment, _changed(edition, assignment, time), dropped)


def decide(edition: Edition, fingerprint: Fingerprint, position: int, time: int) -> tuple[Assignment, Sketch]:
    """The cluster that a story of `time` belongs to, as the edition stands. Changes nothing."""
    story, rule = fingerprint.story, edition.rule
    counts = _counts(story.tokens)
    held = len(counts)
    if story.lead:
        counts |= _counts(token for token in story.lead if token not in counts)
    occurring = np.array([[*counts.values()], [token in story.marked for token in counts]], np.int64)
    ids, weights = token_ids(counts), np.empty(len(counts), np.int64)
    signature = minhash.from_bytes(fingerprint.signature)
    documents = edition.background.headlines + len(edition.rows) + 1
    if rule.profile != "newsburst":
        weigh(
            edition.centroids.entries, ids, occurring, held, documents, rule.lead_weight, np.empty((3, held)), weights
        )
        return _by_paper(
            edition,
            fingerprint,
            position,
            time,
            Sketch(ids, weights, held, edition.found.keys, signature),
            list(counts),
        )
    matchable, found = edition.matchable, edition.found
    similar, near = match(
        signature,
        rule.rows,
        matchable.buckets.head,
        matchable.buckets.node,
        matchable.buckets.oldest,
        matchable.buckets.next,
        rule.bucket_capacity,
        matchable.items.tokens,
        matchable.items.sizes,
        matchable.items.group,
        ids,
        occurring,
        held,
        documents,
        rule.lead_weight,
        edition.centroids.entries,
        edition.facts,
        time,
        rule.longest_life,
        rule.largest,
        rule.decay,
        rule.least_cosine,
        edition.join_weights,
        rule.similar_bands,
        rule.similar_at,
        found.keys,
        weights,
        found.scores,
        found.similar,
        found.near,
        found.features,
    )
    ranked = list(zip(found.scores[:similar].tolist(), found.similar[:similar].tolist(), strict=True))
    choice = _choice(edition, fingerprint, ranked, near)
    sketch = Sketch(ids, weights, held, found.keys, signature)
    return _assignment(edition, fingerprint, position, time, sketch, list(counts), choice), sketch


def _counts(tokens: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for token in tokens:
        counts[token] = counts.get(token, 0) + 1
    return counts


def _assignment(
    edition: Edition,
    fingerprint: Fingerprint,
    position: int,
    time: int,
    sketch: Sketch,
    tokens: list[str],
    choice: Choice,
) -> Assignment:
    story = fingerprint.story
    return Assignment(
        story=story,
        simhash=fingerprint.simhash,
        position=position,
        cluster_id=choice.cluster_id or _new_id(story.id),
        merged=choice.merged,
        weights=dict(zip(tokens, sketch.weights.tolist(), strict=True)),
        similar=choice.similar,
        duplicate_of=choice.duplicate_of,
        late=time < edition.lifetimes.horizon,
        body_signature=fingerprint.body_signature,
    )


def _by_paper(
    edition: Edition, fingerprint: Fingerprint, position: int, time: int, sketch: Sketch, tokens: list[str]
) -> tuple[Assignment, Sketch]:
    """The same by the rules of the paper that the profile names."""
    if edition.rule.profile == "hu-you":  # the fingerprint of the TF-IDF vector, which only the edition knows
        weights = dict(zip(tokens, sketch.weights.tolist(), strict=True))
        fingerprint = msgspec.structs.replace(fingerprint, simhash=simhash.to_hex(simhash.fingerprint(weights)))
    sketch.keys = story_keys(edition.rule, sketch.signature, fingerprint.simhash)
    candidates = edition.matchable.buckets.query(sketch.keys) if tokens else NOTHING
    if edition.rule.profile == "hu-you":
        choice = papers.hu_you(edition, candidates, simhash.from_hex(fingerprint.simhash))
    else:
        choice = papers.newshound(edition, candidates, sketch)
    return _assignment(edition, fingerprint, position, time, sketch, tokens, choice), sketch


def _choice(edition: Edition, fingerprint: Fingerprint, ranked: list[tuple[float, int]], near: int) -> Choice:
    """What the matches mean: `ranked` similar stories, and the first `near` clusters of `edition.found`."""
    similar, duplicate_of = _copies(edition, ranked, fingerprint)
    body = None if fingerprint.body_signature is None else _same_body(edition, fingerprint.body_signature)
    if body is not None:
        cluster_id = edition.lifetimes.resolve(body.cluster_id)
        return Choice(cluster_id, [], similar, body.duplicate_of or body.story.id)
    chosen, merged = _choose(edition, fingerprint.story.id, near)
    return Choice(chosen, merged, similar, duplicate_of)


def _same_body(edition: Edition, signature: bytes) -> Assignment | None:
    """The matchable story whose body this one's is a copy of: the most similar, then the first."""
    rule, own = edition.rule, minhash.from_bytes(signature)
    found: list[tuple[float, int, Assignment]] = []
    for body in edition.matchable.bodies.query(body_keys(rule, signature))[0].tolist():
        row = edition.matchable.with_body[body]
        assert row.body_signature is not None
        found.append((-minhash.similarity(own, minhash.from_bytes(row.body_signature)), row.position, row))
    found.sort()
    return found[0][2] if found and -found[0][0] >= rule.body_copy_at else None


def _copies(
    edition: Edition, best: list[tuple[float, int]], fingerprint: Fingerprint
) -> tuple[list[Similar], str | None]:
    """The similar stories, best first, and the first story that this one is a near-duplicate of."""
    rule, rows = edition.rule, edition.matchable.rows
    ranked = [(score, rows[number]) for score, number in best]
    similar = [Similar(row.story.id, score) for score, row in ranked]
    for score, row in ranked:
        if score < rule.duplicate_least:
            break
        if is_copy(rule, score, fingerprint, row):
            return similar, row.duplicate_of or row.story.id
    return similar, None


def is_copy(rule: ClusterRule, jaccard: float, fingerprint: Fingerprint, earlier: Assignment) -> bool:
    """Whether a story's headline is a near-duplicate of an earlier one's, given the Jaccard similarity of their tokens.

    It is when most words are the same; when both sketches agree that few differ; or when one headline is the beginning of
    the other: cut short by a feed, or with a suffix added.
    """
    if jaccard >= rule.duplicate_at:
        return True
    if jaccard >= rule.duplicate_bits_at:
        bits = simhash.distance(simhash.from_hex(fingerprint.simhash), simhash.from_hex(earlier.simhash))
        if bits <= rule.duplicate_bits:
            return True
    shorter, longer = fingerprint.story.tokens, earlier.story.tokens
    if len(shorter) > len(longer):
        shorter, longer = longer, shorter
    return len(shorter) >= rule.duplicate_beginning and longer[: len(shorter)] == shorter


def _choose(edition: Edition, story_id: str, near: int) -> tuple[str | None, list[str]]:
    """The cluster to join, None for a new one, and the clusters to merge into it; of the first `near` of `edition.found`."""
    found = edition.found
    scores = found.features[:near, JOIN_FEATURES].tolist()
    groups = found.near[:near].tolist()
    if edition.watch is not None:
        for group, features in zip(groups, found.features[:near, :JOIN_FEATURES].tolist(), strict=True):
            edition.watch.join(story_id, edition.in_group[group].members, features)
    if not scores or max(scores) < edition.join_from:
        return None, []
    asked = [(score, group) for score, group in zip(scores, groups, strict=True) if score >= edition.ask_merge_from]
    if len(asked) <= 1:
        return edition.in_group[groups[scores.index(max(scores))]].id, []
    return _merge(edition, [(score, edition.in_group[group]) for score, group in asked])


def _merge(edition: Edition, asked: list[tuple[float, Cluster]]) -> tuple[str, list[str]]:
    """The cluster that lives on, of those that the story may belong to and their join scores, and those that merge into it."""
    rule, weight = edition.rule, edition.weights.merge
    asked.sort(key=lambda pair: (-pair[0], pair[1].opened))
    best_score, best = asked[0]
    parts, whole = [best], _extent(best)
    for score, other in asked[1:]:
        across = sum(edition.centroids.dot(part.group, other.group) for part in parts)
        larger, smaller = whole, _extent(other)
        if larger.size < smaller.size:
            larger, smaller = smaller, larger
        compared = merge_features(larger, smaller, across, probability(best_score), probability(score))
        if edition.watch is not None:
            edition.watch.merge([member for part in parts for member in part.members], other.members, compared)
        fits = whole.size + other.size < rule.largest
        if fits and merge_score(weight, compared) >= edition.merge_from:
            parts.append(other)
            whole = joined(whole, _extent(other), across)
    survivor = min(parts, key=lambda part: (part.first, part.id))
    return survivor.id, [part.id for part in parts if part is not survivor]


def _extent(of: Cluster) -> Extent:
    return Extent(of.first[0], of.last, of.size, of.square)


def _new_id(story_id: str) -> str:
    """The id of the cluster that a story opens: deterministic, and different for every story."""
    return "c" + blake2b(story_id.encode(), digest_size=8).hexdigest()


def _changed(edition: Edition, row: Assignment, time: int) -> list[records.Cluster]:
    """The state of each cluster that the row of a story of `time` touched, merged ones first."""
    story = row.story
    states = [
        records.Cluster(
            id=absorbed,
            edition=story.edition,
            position=row.position,
            stories=0,
            publishers=0,
            merged_into=row.cluster_id,
        )
        for absorbed in row.merged
    ]
    now = edition.clusters[edition.lifetimes.resolve(row.cluster_id)]
    first = edition.rows[now.first[1]].story
    states.append(
        records.Cluster(
            id=now.id,
            edition=story.edition,
            position=now.position,
            stories=now.size,
            publishers=len(now.publishers),
            headline=first.title,
            first_seen=first.crawled_at,
            last_seen=story.crawled_at if time == now.last else from_micros(now.last),
        )
    )
    return states
