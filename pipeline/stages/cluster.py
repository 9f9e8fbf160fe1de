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

from datetime import datetime, timedelta
from hashlib import blake2b
from typing import NamedTuple

import msgspec
import numpy as np

from pipeline import records
from pipeline.records import Assignment, Fingerprint, InvalidRecord, NormalisedStory, Similar, StreamTime, Tick
from pipeline.similarity import minhash, simhash
from pipeline.similarity.bag import bag
from pipeline.similarity.items import HALF, MASK, token_ids
from pipeline.similarity.tfidf import weigh
from pipeline.similarity.universal import ROWS
from pipeline.stages import papers
from pipeline.stages.choice import Choice
from pipeline.stages.clustering import Edition, Sketch, advance, apply, revise
from pipeline.stages.known import contents
from pipeline.stages.lifetimes import Dropped
from pipeline.stages.match import match
from pipeline.stages.matchable import body_keys, story_keys
from pipeline.stages.scores import FIRST, LAST
from pipeline.stages.watch import Watch
from pipeline.times import from_micros, to_micros

AHEAD = timedelta(hours=1)
"""How far the clocks of brokers may be apart."""
NOTHING = (np.empty(0, np.int64), np.empty(0, np.int64))
"""No candidates."""


class Outcome(NamedTuple):
    """What clustering one story brought."""

    assignment: Assignment
    clusters: list[records.Cluster]
    """the new state of each cluster that changed"""
    dropped: Dropped


SIGNATURE = 4 * ROWS
"""Bytes of a signature."""


def check(fingerprint: Fingerprint, at: datetime) -> None:
    """Raises InvalidRecord for what the fingerprint stage never writes; `at` is when the broker took the record in."""
    story, body = fingerprint.story, fingerprint.body_signature
    check_times("Fingerprint", at, crawled_at=story.crawled_at, received_at=story.received_at)
    if len(fingerprint.signature) != SIGNATURE or (body is not None and len(body) != SIGNATURE):
        raise InvalidRecord(f"Wrong Fingerprint: signature: it should have {SIGNATURE} bytes.")


def check_times(record: str, at: datetime, **times: datetime | None) -> None:
    """Raises InvalidRecord for a time that is long after the broker took the record in."""
    latest = at + AHEAD
    for name, time in times.items():
        if time is not None and time > latest:
            raise InvalidRecord(
                f"Wrong {record}: {name}: {time.isoformat()} is after the record came ({at.isoformat()})."
            )


class Passed(NamedTuple):
    """What a tick brought."""

    stream_time: StreamTime
    dropped: Dropped


def tick(edition: Edition, at: Tick, position: int) -> Passed | None:
    """Let stream time pass; `position` is that of the tick in the log. None where nothing lives any more, or it came before."""
    if position <= edition.position or not edition.clusters or at.at is None:
        return None
    lifetimes = edition.lifetimes
    lifetimes.pass_to(to_micros(at.at))
    dropped = advance(edition)
    edition.position = position
    return Passed(
        StreamTime(
            edition=at.edition,
            position=position,
            stream_time=from_micros(lifetimes.stream_time),
            received_at=from_micros(lifetimes.received),
        ),
        dropped,
    )


def cluster(edition: Edition, fingerprint: Fingerprint, position: int) -> Outcome | None:
    """Put a story in its cluster; `position` is the offset of its record in the log, and orders all decisions.

    A record that was decided before (it is delivered again after a crash) and a story that is sent again change nothing: None.
    A known story that is sent again with another text, or retracted, stays in its cluster.
    """
    story = fingerprint.story
    if position <= edition.position:
        return None
    lifetimes, known = edition.lifetimes, edition.known.get(story.id)
    time, received = to_micros(story.crawled_at), to_micros(story.received_at)
    if known is not None and not lifetimes.would_die(lifetimes.resolve(known.cluster_id), time, received):
        return _revision(edition, fingerprint, position)
    lifetimes.come(time, received)
    dropped = advance(edition)
    assignment, sketch = decide(edition, fingerprint, position, time)
    apply(edition, assignment, sketch, time)
    return Outcome(assignment, _changed(edition, assignment, time), dropped)


def _revision(edition: Edition, fingerprint: Fingerprint, position: int) -> Outcome | None:
    """The same of a known story: None if it is as it was."""
    story = fingerprint.story
    known = edition.known[story.id]
    if contents(story) == known.contents:
        return None
    row = Assignment(
        story=msgspec.structs.replace(story, crawled_at=from_micros(known.time)),
        simhash=fingerprint.simhash,
        position=position,
        cluster_id=edition.lifetimes.resolve(known.cluster_id),
        merged=[],
        weights={},
        similar=[],
        stream_time=from_micros(edition.lifetimes.stream_time),
        revision=True,
    )
    revise(edition, row)
    return Outcome(row, _changed(edition, row, known.time), Dropped([], [], []))


def decide(edition: Edition, fingerprint: Fingerprint, position: int, time: int) -> tuple[Assignment, Sketch]:
    """The cluster that a story of `time` belongs to, as the edition stands. Changes nothing."""
    story, rule = fingerprint.story, edition.rule
    counts = bag(story.tokens)
    held = len(counts)
    if story.lead:
        counts |= bag([token for token in story.lead if token not in counts])
    marked = story.marked
    occurring = np.array([[*counts.values()], [token in marked for token in counts]], np.int64)
    ids, weights = token_ids(counts), np.empty(len(counts), np.int64)
    signature, print_ = minhash.from_bytes(fingerprint.signature), simhash.from_hex(fingerprint.simhash)
    documents = edition.background.headlines + len(edition.known) + 1
    if rule.profile != "newsburst":
        owners, entries = edition.centroids.owners, edition.centroids.entries
        weigh(owners, entries, ids, occurring, held, documents, rule.lead_weight, np.empty((3, held)), weights)
        return _by_paper(
            edition,
            fingerprint,
            position,
            time,
            Sketch(ids, weights, held, edition.found.keys, signature, print_),
            list(counts),
        )
    buckets, items, centroids, found = (
        edition.matchable.buckets,
        edition.matchable.items,
        edition.centroids,
        edition.found,
    )
    similar, copied, near, asked = match(
        signature,
        rule.rows,
        buckets.head,
        buckets.node,
        buckets.seen,
        buckets.oldest,
        buckets.next,
        rule.bucket_capacity,
        items.rows,
        ids,
        occurring,
        held,
        documents,
        rule.lead_weight,
        centroids.owners,
        centroids.entries,
        centroids.heads,
        edition.facts,
        time,
        rule.look_back,
        rule.longest_life,
        rule.largest,
        rule.decay,
        rule.least_cosine,
        edition.join_weights,
        edition.join_from,
        edition.ask_merge_from,
        edition.merge_from,
        edition.merge_weights,
        rule.similar_bands,
        rule.similar_at,
        print_ >> HALF,
        print_ & MASK,
        rule.duplicate_least,
        rule.duplicate_at,
        rule.duplicate_bits_at,
        rule.duplicate_bits,
        rule.duplicate_beginning,
        found.keys,
        weights,
        found.scores,
        found.similar,
        found.near,
        found.features,
        found.asked,
        found.taken,
        found.compared,
    )
    choice = _choice(edition, fingerprint, similar, copied, near, asked)
    sketch = Sketch(ids, weights, held, found.keys, signature, print_)
    return _assignment(edition, fingerprint, position, time, sketch, list(counts), choice), sketch


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
        cluster_id=choice.cluster_id or _new_id(story, edition.lifetimes.stream_time),
        merged=choice.merged,
        weights=dict(zip(tokens, sketch.weights.tolist(), strict=True)),
        similar=choice.similar,
        duplicate_of=choice.duplicate_of,
        late=time < edition.lifetimes.horizon,
        stream_time=from_micros(edition.lifetimes.stream_time),
        body_signature=fingerprint.body_signature,
    )


def _by_paper(
    edition: Edition, fingerprint: Fingerprint, position: int, time: int, sketch: Sketch, tokens: list[str]
) -> tuple[Assignment, Sketch]:
    """The same by the rules of the paper that the profile names."""
    if edition.rule.profile == "hu-you":  # the fingerprint of the TF-IDF vector, which only the edition knows
        weights = dict(zip(tokens, sketch.weights.tolist(), strict=True))
        sketch.print = simhash.fingerprint(weights)
        fingerprint = msgspec.structs.replace(fingerprint, simhash=simhash.to_hex(sketch.print))
    sketch.keys = story_keys(edition.rule, sketch.signature, sketch.print)
    candidates = edition.matchable.buckets.query(sketch.keys) if tokens else NOTHING
    if edition.rule.profile == "hu-you":
        choice = papers.hu_you(edition, candidates, sketch.print)
    else:
        choice = papers.newshound(edition, candidates, sketch)
    return _assignment(edition, fingerprint, position, time, sketch, tokens, choice), sketch


def _choice(edition: Edition, fingerprint: Fingerprint, similar: int, copied: int, near: int, asked: int) -> Choice:
    """What the matches mean, as `match` returns them: they are in `edition.found`."""
    matchable, found, in_group = edition.matchable, edition.found, edition.in_group
    ranked: list[Similar] = []
    duplicate_of = None
    if similar:
        numbers = found.similar[:similar].tolist()
        ranked = list(map(Similar, matchable.names(numbers), found.scores[:similar].tolist()))
        if copied >= 0:
            duplicate_of = matchable.original(numbers[copied])
    if fingerprint.body_signature is not None:
        body = _same_body(edition, fingerprint.body_signature)
        if body is not None and _in_reach(
            edition, matchable.items.group_of(body), to_micros(fingerprint.story.crawled_at)
        ):
            return Choice(in_group[matchable.items.group_of(body)].id, [], ranked, matchable.original(body))
    if edition.watch is not None:
        _show(edition, edition.watch, fingerprint.story.id, near, asked)
    if not asked:
        return Choice(None, [], ranked, duplicate_of)
    if asked == 1:
        return Choice(in_group[int(found.asked[0])].id, [], ranked, duplicate_of)
    joins = zip(found.asked[:asked].tolist(), found.taken[:asked].tolist(), strict=True)
    parts = [in_group[group] for group, taken in joins if taken]
    survivor = min(parts, key=lambda part: (part.first, part.id))
    return Choice(survivor.id, [part.id for part in parts if part is not survivor], ranked, duplicate_of)


def _same_body(edition: Edition, signature: bytes) -> int | None:
    """The number of the matchable story whose body this one's is a copy of: the most similar, then the first."""
    rule, matchable, own = edition.rule, edition.matchable, minhash.from_bytes(signature)
    found: list[tuple[float, int]] = []
    for body in matchable.bodies.query(body_keys(rule, signature))[0].tolist():
        number, other = matchable.with_body[body]
        found.append((-minhash.similarity(own, minhash.from_bytes(other)), number))
    found.sort()
    return found[0][1] if found and -found[0][0] >= rule.body_copy_at else None


def _in_reach(edition: Edition, group: int, time: int) -> bool:
    """Whether a cluster has stories within the look-back of this time, before or after."""
    first, last = edition.facts[group, [FIRST, LAST]].tolist()
    return bool(first - edition.rule.look_back <= time <= last + edition.rule.look_back)


def _show(edition: Edition, watch: Watch, story_id: str, near: int, asked: int) -> None:
    """Let the watch see the decisions that `edition.found` holds."""
    found, in_group = edition.found, edition.in_group
    for group, features in zip(found.near[:near].tolist(), found.features[:near].tolist(), strict=True):
        watch.join(story_id, in_group[group].members, features[:-1])
    parts: list[str] = []
    for index, group in enumerate(found.asked[:asked].tolist()):
        members = in_group[group].members
        if index:
            watch.merge(parts, members, found.compared[index].tolist())
        if found.taken[index]:
            parts = parts + members


def _new_id(story: NormalisedStory, stream_time: int) -> str:
    """The id of the cluster that a story opens: deterministic, and another for each story, edition and life.

    A story that comes again after its cluster has died comes at a later stream time.
    """
    named = f"{story.edition} {stream_time} {story.id}"
    return "c" + blake2b(named.encode(), digest_size=8).hexdigest()


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
    first_seen, first_id, headline = now.first
    last = int(edition.facts[now.group, LAST])
    states.append(
        records.Cluster(
            id=now.id,
            edition=story.edition,
            position=now.position,
            stories=len(now.members) - now.retracted,
            publishers=len(now.publishers),
            headline=None if first_id in edition.retracted else headline,
            first_seen=story.crawled_at if first_id == story.id else from_micros(first_seen),
            last_seen=story.crawled_at if time == last else from_micros(last),
        )
    )
    return states
