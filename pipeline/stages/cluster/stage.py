"""Cluster: a fingerprinted story joins the cluster of its event, or opens one; clusters that prove to be one are merged.

For each story:

1. Stream time moves on, and clusters without a story for the look-back are dropped with their rows.
2. The bucket tables name candidate stories: those that share a band of the MinHash signature.
3. The candidates are ranked by Jaccard similarity; a close one makes the story a near-duplicate.
4. The clusters of the candidates are compared with the story by the cosine of TF-IDF vectors; the best few get a learned
   join score. The story joins the best if that is more likely than not, else it opens a cluster of its own.
5. The joined cluster and each other that the story might belong to get a learned merge score; a high one merges them.
   The older cluster's id survives.

A story is never matched with clusters that are further from it than the look-back, before or after: a story of an archive that is
read in today joins what was written in its time.
"""

from datetime import datetime
from typing import NamedTuple

import msgspec
import numpy as np

from pipeline.codec import InvalidRecord
from pipeline.records import Assignment, Cluster, Fingerprint, NormalisedStory, Similar, StreamTime, Tick
from pipeline.similarity import minhash, simhash
from pipeline.similarity.bag import bag
from pipeline.similarity.items import groups_of, token_ids
from pipeline.similarity.universal import ROWS
from pipeline.stages.check import check_times
from pipeline.stages.cluster import changed, papers
from pipeline.stages.cluster.choice import Choice
from pipeline.stages.cluster.index import story_keys
from pipeline.stages.cluster.kernels import Match, match, weigh_only
from pipeline.stages.cluster.seen import contents
from pipeline.stages.cluster.state import ClusterState, LiveCluster, Sketch, advance, apply, revise
from pipeline.stages.ids import cluster_id
from pipeline.stages.lifetimes import Expired
from pipeline.stages.observer import DecisionObserver
from pipeline.times import from_micros, to_micros

SIGNATURE_BYTES = 4 * ROWS


class Outcome(NamedTuple):
    """What clustering one story brought."""

    assignment: Assignment
    clusters: list[Cluster]
    """the new state of each cluster that changed"""
    expired: Expired
    candidates: int = 0
    """how many stories it was compared with"""


def check(fingerprint: Fingerprint, at: datetime) -> None:
    """Raises InvalidRecord for what the fingerprint stage never writes; `at` is when the broker took the record in."""
    story, body = fingerprint.story, fingerprint.body_signature
    check_times("Fingerprint", at, crawled_at=story.crawled_at, received_at=story.received_at)
    if len(fingerprint.signature) != SIGNATURE_BYTES or (body is not None and len(body) != SIGNATURE_BYTES):
        raise InvalidRecord(f"Wrong Fingerprint: signature: it should have {SIGNATURE_BYTES} bytes.")


class Passed(NamedTuple):
    """What a tick brought."""

    stream_time: StreamTime
    expired: Expired


def tick_clusters(state: ClusterState, at: Tick, position: int) -> Passed | None:
    """Let stream time pass; `position` is that of the tick in the log. None where nothing lives any more, or it came before."""
    if position <= state.position or not state.clusters or at.at is None:
        return None
    lifetimes = state.lifetimes
    lifetimes.pass_to(to_micros(at.at))
    expired = advance(state)
    state.position = position
    return Passed(
        StreamTime(
            edition=at.edition,
            position=position,
            stream_time=from_micros(lifetimes.stream_time),
            received_at=from_micros(lifetimes.received),
        ),
        expired,
    )


def cluster(state: ClusterState, fingerprint: Fingerprint, position: int) -> Outcome | None:
    """Put a story in its cluster; `position` is the offset of its record in the log, and orders all decisions.

    A record that was decided before (it is delivered again after a crash) and a story that is sent again change nothing: None.
    A known story that is sent again with another text, or retracted, stays in its cluster.
    """
    story = fingerprint.story
    if position <= state.position:
        return None
    lifetimes, known = state.lifetimes, state.seen.get(story.id)
    time, received = to_micros(story.crawled_at), to_micros(story.received_at)
    if known is not None and not lifetimes.would_die(lifetimes.resolve(known.cluster_id), time, received):
        return _revision(state, fingerprint, position)
    lifetimes.come(time, received)
    expired = advance(state)
    assignment, sketch = decide(state, fingerprint, position, time)
    apply(state, assignment, sketch, time)
    return Outcome(assignment, _changed(state, assignment), expired, sketch.candidates)


def _revision(state: ClusterState, fingerprint: Fingerprint, position: int) -> Outcome | None:
    """The same of a known story: None if it is as it was."""
    story = fingerprint.story
    known = state.seen[story.id]
    if contents(story) == known.contents:
        return None
    row = Assignment(
        story=msgspec.structs.replace(story, crawled_at=from_micros(known.time)),
        simhash=fingerprint.simhash,
        position=position,
        cluster_id=state.lifetimes.resolve(known.cluster_id),
        merged=[],
        weights={},
        similar=[],
        stream_time=from_micros(state.lifetimes.stream_time),
        revision=True,
        revises=known.position,
    )
    revise(state, row)
    return Outcome(row, _changed(state, row), Expired([], [], [], []))


def decide(state: ClusterState, fingerprint: Fingerprint, position: int, time: int) -> tuple[Assignment, Sketch]:
    """The cluster that a story of `time` belongs to, as the state is. Changes nothing."""
    story = fingerprint.story
    counts = bag(story.tokens)
    headline_length = len(counts)
    if story.lead:
        counts |= bag([token for token in story.lead if token not in counts])
    marked = story.marked
    occurring = np.array([[*counts.values()], [token in marked for token in counts]], np.int64)
    ids = token_ids(counts)
    signature, bits = minhash.from_bytes(fingerprint.signature), simhash.from_hex(fingerprint.simhash)
    stories = len(state.seen)
    if state.rule.profile == "newsburst":
        matched = match(state.window, signature, ids, occurring, headline_length, stories, time, simhash.signed(bits))
        sketch = Sketch(ids, matched.weights, headline_length, matched.keys, signature, bits, matched.candidates)
        choice = _choose(state, fingerprint, matched)
    else:
        weights = weigh_only(state.window, ids, occurring, headline_length, stories)
        if state.rule.profile == "hu-you":  # the fingerprint of the TF-IDF vector, which only the edition knows
            bits = simhash.fingerprint(dict(zip(counts, weights.tolist(), strict=True)))
        sketch = Sketch(ids, weights, headline_length, story_keys(state.rule, signature), signature, bits)
        choice = papers.hu_you(state, sketch) if state.rule.profile == "hu-you" else papers.newshound(state, sketch)
    return _assignment(state, fingerprint, position, time, sketch, list(counts), choice), sketch


def _assignment(
    state: ClusterState,
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
        simhash=simhash.to_hex(sketch.simhash),
        position=position,
        cluster_id=choice.cluster_id or _new_id(story, state.lifetimes.stream_time),
        merged=choice.merged,
        weights=dict(zip(tokens, sketch.weights.tolist(), strict=True)),
        similar=choice.similar,
        duplicate_of=choice.duplicate_of,
        tied=[*choice.tied],
        late=time < state.lifetimes.horizon,
        stream_time=from_micros(state.lifetimes.stream_time),
        body_signature=fingerprint.body_signature,
    )


def _choose(state: ClusterState, fingerprint: Fingerprint, matched: Match) -> Choice:
    """What a match means: the cluster to join, and those that are one with it."""
    index, in_group = state.index, state.in_group
    numbers = matched.similar.tolist()
    ranked = list(map(Similar, index.names(numbers), matched.scores.tolist()))
    duplicate_of = index.original(numbers[matched.copied]) if matched.copied >= 0 else None
    if fingerprint.body_signature is not None:
        body = index.same_body(fingerprint.body_signature)
        if body is not None:
            group = int(groups_of(state.window.items, np.array([body]))[0])
            if _in_reach(state, in_group[group], to_micros(fingerprint.story.crawled_at)):
                return Choice(in_group[group].id, [], ranked, index.original(body))
    if state.observer is not None:
        _show(state, state.observer, fingerprint.story.id, matched)
    if not len(matched.joins):
        return Choice(None, [], ranked, duplicate_of)
    joins = [*zip(matched.joins.tolist(), matched.taken.tolist(), strict=True)]
    parts = [in_group[group] for group, taken in joins if taken]
    survivor = min(parts, key=lambda part: (part.first, part.id))
    merged = [part.id for part in parts if part is not survivor]
    return Choice(
        survivor.id, merged, ranked, duplicate_of, [in_group[group].id for group, taken in joins if not taken]
    )


def _in_reach(state: ClusterState, cluster: LiveCluster, time: int) -> bool:
    """Whether a cluster has stories within the look-back of this time, before or after."""
    return cluster.first[0] - state.rule.look_back <= time <= cluster.last + state.rule.look_back


def _show(state: ClusterState, observer: DecisionObserver, story_id: str, matched: Match) -> None:
    """Let the observer see the decisions of a match."""
    in_group = state.in_group
    for group, features in zip(matched.near.tolist(), matched.join_features.tolist(), strict=True):
        observer.join(story_id, in_group[group].members, features[:-1])
    parts: list[str] = []
    joins = zip(matched.joins.tolist(), matched.taken.tolist(), matched.merge_features.tolist(), strict=True)
    for index, (group, taken, features) in enumerate(joins):
        members = in_group[group].members
        if index:
            observer.merge(parts, members, features)
        if taken:
            parts = parts + members


def _new_id(story: NormalisedStory, stream_time: int) -> str:
    """The id of the cluster that a story opens: deterministic, and another for each story, edition and life.

    A story that comes again after its cluster has died comes at a later stream time.
    """
    return cluster_id(story.edition, stream_time, story.id)


def _changed(state: ClusterState, row: Assignment) -> list[Cluster]:
    """The state of each cluster that a row touched, merged ones first."""
    edition, now = row.story.edition, state.clusters[state.lifetimes.resolve(row.cluster_id)]
    return [*changed.merged(row.merged, now, edition), changed.living(state, now, edition)]
