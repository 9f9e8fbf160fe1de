"""The state of the clustering: sums and counts are those of the rows, and a crash changes no answer."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.codec import decode, encode
from pipeline.records import Assignment
from pipeline.similarity import buckets, centroids, items, tfidf
from pipeline.similarity.items import token_ids
from pipeline.similarity.tfidf import DOCUMENT_FREQUENCY
from pipeline.stages import features
from pipeline.stages.cluster import index, join_score, kernels, merge_score, near_duplicates, stage, state
from pipeline.stages.cluster import ties as ties_kernels
from pipeline.stages.cluster.restore import restore
from pipeline.stages.cluster.stage import cluster
from pipeline.stages.cluster.state import ClusterState, advance
from pipeline.times import to_micros
from tests.make import fingerprinted, long_and_short, uncompiled
from tests.stages.cluster.clustering import (
    NOTHING,
    RULE,
    facts,
    headlines,
    held_by,
    keep_rows,
    picture,
    run,
    sums,
    ties,
)

KERNELS = (
    buckets,
    centroids,
    items,
    tfidf,
    features,
    join_score,
    merge_score,
    near_duplicates,
    ties_kernels,
    kernels,
    state,
    stage,
    index,
)


streams = long_and_short(st.tuples(headlines, st.integers(-120, 120)))


revised_streams = long_and_short(
    st.tuples(headlines, st.integers(-120, 120), st.integers(0, 30), st.booleans(), st.sampled_from("pq"))
)


def records(stream):
    """A stream that moves on 20 minutes a story, each story up to two hours early or late."""
    return [fingerprinted(f"s{n}", text, 20 * n + shift) for n, (text, shift) in enumerate(stream)]


def revised_records(stream):
    """The same with revisions: a story may have the id of one that came up to 12 before it."""
    made = []
    for n, (text, shift, back, retracted, publisher) in enumerate(stream):
        story_id = made[-back].story.id if 0 < back <= min(12, len(made)) else f"s{n}"
        made.append(fingerprinted(story_id, text, 20 * n + shift, publisher=publisher, retracted=retracted))
    return made


def in_order(rows):
    """The rows as they come from a changelog."""
    return sorted((decode(encode(row), Assignment) for row in rows.values()), key=lambda row: row.position)


@given(streams)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_sums_are_those_of_the_members(stream):
    edition, kept = ClusterState(NOTHING, RULE), {}
    run(edition, records(stream), kept)
    assert {(story_id, False) for story_id in edition.seen} == kept.keys()
    for living in edition.clusters.values():
        rows = [kept[story_id, False] for story_id in living.members]
        tokens = {token for row in rows for token in row.weights}
        assert sums(edition, living) == {
            int(token_ids([token])[0]): (
                sum(row.weights.get(token, 0) for row in rows),
                sum(token in row.weights for row in rows),
            )
            for token in tokens
        }
        times = [to_micros(row.story.crawled_at) for row in rows]
        assert facts(edition, living) == [
            min(times),
            max(times),
            len(rows),
            sum(weight**2 for weight, _ in sums(edition, living).values()),
            min(row.position for row in rows),
            0,
        ]
        assert living.first == min(zip(times, living.members, [row.story.title for row in rows], strict=True))
    members = [[kept[story_id, False] for story_id in living.members] for living in edition.clusters.values()]
    words = {token for row in kept.values() for token in row.weights}
    assert held_by(edition, DOCUMENT_FREQUENCY) == {
        int(token_ids([token])[0]): (
            sum(sum(token in row.weights for row in rows).bit_length() for rows in members),
            sum(token in row.weights for row in kept.values()),
        )
        for token in words
    }
    assert edition.window.spread == sum(len(rows).bit_length() for rows in members)


@given(streams)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=300)
def test_ties_are_those_of_the_rows(stream):
    edition, kept = ClusterState(NOTHING, RULE), {}
    run(edition, records(stream), kept)
    expected, resolve = Counter(), edition.lifetimes.resolve
    for row in kept.values():
        joined = resolve(row.cluster_id)
        for tied in map(resolve, row.tied):
            if tied in edition.clusters and tied != joined:
                expected[joined, tied] += 1
                expected[tied, joined] += 1
    assert ties(edition) == expected


@given(revised_streams)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_clusters_count_the_publishers_of_their_stories_that_are_not_retracted(stream):
    edition, kept = ClusterState(NOTHING, RULE), {}
    run(edition, revised_records(stream), kept)
    latest = {story_id: row.story for (story_id, _), row in sorted(kept.items(), key=lambda item: item[0])}
    for living in edition.clusters.values():
        counted = [latest[story_id].family for story_id in living.members if not latest[story_id].retracted]
        assert living.publishers == Counter(counted)
        assert len(living.members) - living.retracted == len(counted)
        assert living.first[2] == latest[living.first[1]].title
    assert {
        edition.lifetimes.resolve(cluster_id) for cluster_id in edition.lifetimes.survivor
    } <= edition.clusters.keys()
    assert edition.seen.keys() == {story_id for story_id, revision in kept if not revision}
    assert edition.revised == {story_id for story_id, revision in kept if revision}


@given(revised_streams, st.integers(0, 40))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_a_state_restored_from_its_rows_goes_on_as_the_old_one(stream, cut):
    stories = revised_records(stream)
    old, kept = ClusterState(NOTHING, RULE), {}
    run(old, stories[:cut], kept)
    new = ClusterState(NOTHING, RULE)
    restore(new, in_order(kept))
    assert picture(new) == picture(old)
    for position, record in enumerate(stories[cut:], cut):
        assert cluster(new, record, position) == cluster(old, record, position)
    assert picture(new) == picture(old)


@given(revised_streams, st.integers(0, 40), st.integers(0, 40))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=300)
def test_a_crash_changes_no_answer(stream, survived, committed):
    """The changelog kept what was committed of a prefix; the log is delivered again from an earlier offset."""
    stories = revised_records(stream)
    survived, committed = min(survived, len(stories)), min(survived, committed)
    calm, crashed = ClusterState(NOTHING, RULE), ClusterState(NOTHING, RULE)
    expected, rows = [], {}
    for position, record in enumerate(stories):
        outcome = cluster(calm, record, position)
        expected.append(outcome and outcome.assignment)
        if position < survived:
            keep_rows(rows, outcome)
    restore(crashed, in_order(rows))
    for position, record in enumerate(stories[committed:], committed):
        outcome = cluster(crashed, record, position)
        assert (outcome and outcome.assignment) == (None if position < survived else expected[position])
    for edition in (calm, crashed):  # what died with the last story goes with the next
        advance(edition)
    assert picture(crashed) == picture(calm)


@given(streams)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=30)
def test_decisions_are_the_same_uncompiled(stream):
    stories = records(stream)
    compiled = [outcome and outcome.assignment for outcome in run(ClusterState(NOTHING, RULE), stories)]
    with pytest.MonkeyPatch.context() as patch:
        uncompiled(patch, *KERNELS)
        plain = [outcome and outcome.assignment for outcome in run(ClusterState(NOTHING, RULE), stories)]
    assert plain == compiled
