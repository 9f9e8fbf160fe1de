"""Cluster: what joins, what merges, and that the state is a function of its rows."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.codec import decode, encode
from pipeline.languages.background import Background, background
from pipeline.languages.words import tokenise
from pipeline.records import Assignment
from pipeline.similarity import buckets, centroids, items, tfidf
from pipeline.similarity.centroids import DOCUMENTS, GROUP, SUM
from pipeline.similarity.items import token_ids
from pipeline.similarity.tfidf import DOCUMENT_FREQUENCY
from pipeline.stages import features
from pipeline.stages.cluster import index, join_score, kernels, merge_score, near_duplicates, stage, state
from pipeline.stages.cluster.stage import cluster
from pipeline.stages.cluster.state import ClusterState, advance, restore
from pipeline.stages.rules import ClusterRule
from pipeline.times import HOUR, to_micros
from tests.make import fingerprinted, long_and_short, uncompiled

NOTHING = Background(0, {})
KERNELS = (
    buckets,
    centroids,
    items,
    tfidf,
    features,
    join_score,
    merge_score,
    near_duplicates,
    kernels,
    state,
    stage,
    index,
)
WORDS = [f"word{n}" for n in range(14)]
RULE = ClusterRule(look_back=3 * HOUR, bucket_capacity=3)

headlines = st.lists(st.sampled_from(WORDS), min_size=0, max_size=6).map(" ".join)
streams = long_and_short(st.tuples(headlines, st.integers(-120, 120)))
revised_streams = long_and_short(
    st.tuples(headlines, st.integers(-120, 120), st.integers(0, 30), st.booleans(), st.sampled_from("pq"))
)


def keep_rows(rows, outcome):
    """Do to the rows, by story and whether they are revisions, what an outcome says."""
    if outcome is None:
        return
    for story_id in outcome.expired.rows:  # first: a story that comes again after its cluster died is among them
        del rows[story_id, False]
    for story_id in outcome.expired.revised:
        del rows[story_id, True]
    row = outcome.assignment
    rows[row.story.id, row.revision] = row


def run(edition, stories, rows=None):
    """What each story brings; `rows` becomes those that are kept."""
    rows = {} if rows is None else rows
    outcomes = []
    for position, story in enumerate(stories):
        outcome = cluster(edition, story, position)
        outcomes.append(outcome)
        keep_rows(rows, outcome)
    return outcomes


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


def held_by(edition, group):
    """The sum of weights and the number of headlines by token, as the centroids hold them."""
    owners, entries = edition.window.centroids.owners, edition.window.centroids.entries
    own = np.flatnonzero((owners >= 0) & (owners // GROUP == group)).tolist()
    found = {int(owners[place] % GROUP): (int(entries[place, SUM]), int(entries[place, DOCUMENTS])) for place in own}
    return {token: held for token, held in found.items() if any(held)}


def facts(edition, living):
    return edition.window.facts[living.group].tolist()


def sums(edition, living):
    return held_by(edition, living.group)


def picture(edition):
    """All that the state is, in comparable form."""
    clusters = {
        key: (
            c.first,
            c.position,
            sorted(c.members),
            sorted(c.absorbed),
            c.publishers,
            c.retracted,
            sums(edition, c),
            facts(edition, c),
        )
        for key, c in edition.clusters.items()
    }
    everywhere = held_by(edition, DOCUMENT_FREQUENCY)
    resolve = edition.lifetimes.resolve
    known = {key: known._replace(cluster_id=resolve(known.cluster_id)) for key, known in edition.seen.items()}
    stories = known, edition.revised, edition.retracted
    return clusters, stories, edition.lifetimes.survivor, everywhere, edition.lifetimes.stream_time, edition.position


def test_stories_of_one_event_share_a_cluster_and_others_do_not():
    edition = ClusterState(NOTHING)
    outcomes = run(
        edition,
        [
            fingerprinted("a", "earthquake strike nepal capital"),
            fingerprinted("b", "earthquake strike nepal village", 5),
            fingerprinted("c", "bank cut interest rate", 6),
            fingerprinted("d", "nepal earthquake toll capital", 9),
        ],
    )
    a, b, c, d = (outcome.assignment.cluster_id for outcome in outcomes)
    assert a == b == d != c


def test_a_near_duplicate_names_the_first_of_its_kind():
    edition = ClusterState(NOTHING)
    text = "earthquake strike nepal capital many dead"
    outcomes = run(edition, [fingerprinted(name, text, n) for n, name in enumerate("cba")])
    assert [outcome.assignment.duplicate_of for outcome in outcomes] == [None, "c", "c"]
    assert [similar.story_id for similar in outcomes[2].assignment.similar] == ["c", "b"]
    assert outcomes[2].assignment.similar[0].score == 1.0


def test_a_story_beyond_the_look_back_opens_its_own_cluster():
    edition = ClusterState(NOTHING, RULE)
    text = "earthquake strike nepal capital"
    first, second = run(edition, [fingerprinted("a", text), fingerprinted("b", text, 3 * 60 + 1)])
    assert first.assignment.cluster_id != second.assignment.cluster_id
    assert second.expired.rows == ["a"]
    assert second.expired.clusters == [first.assignment.cluster_id]


def test_a_late_story_is_marked_and_kept():
    edition = ClusterState(NOTHING, RULE)
    _, late = run(edition, [fingerprinted("a"), fingerprinted("b", "old news", -200)])
    assert late.assignment.late


def test_a_repeated_story_changes_nothing():
    edition = ClusterState(NOTHING)
    run(edition, [fingerprinted("a")])
    before = picture(edition)
    assert cluster(edition, fingerprinted("a", minutes=7), 1) is None
    assert picture(edition) == before


def test_a_corrected_story_stays_in_its_cluster_at_its_time_with_its_new_text():
    edition = ClusterState(NOTHING)
    first, _, corrected = run(
        edition,
        [
            fingerprinted("a", "earthquake strike nepal capital"),
            fingerprinted("b", "earthquake strike nepal village", 5),
            fingerprinted("a", "bank cut interest rate", 90),
        ],
    )
    row = corrected.assignment
    assert (row.revision, row.cluster_id, row.position) == (True, first.assignment.cluster_id, 2)
    assert row.story.title == "Bank cut interest rate"
    assert row.story.crawled_at == first.assignment.story.crawled_at
    (state,) = corrected.clusters
    assert (state.id, state.stories, state.headline) == (first.assignment.cluster_id, 2, "Bank cut interest rate")
    assert state.first_seen == first.assignment.story.crawled_at
    again = cluster(edition, fingerprinted("c", "earthquake strike nepal capital", 91), 3).assignment
    assert again.cluster_id == first.assignment.cluster_id, "what it is matched by stays"


def test_a_retracted_story_does_not_count_until_it_is_back():
    edition = ClusterState(NOTHING)
    text = "earthquake strike nepal capital"
    outcomes = run(
        edition,
        [
            fingerprinted("a", text, publisher="p"),
            fingerprinted("b", text, 1, publisher="q"),
            fingerprinted("b", text, 2, publisher="q", retracted=True),
            fingerprinted("b", text, 3, publisher="q", retracted=True),
            fingerprinted("b", text, 4, publisher="q"),
        ],
    )
    counts = [outcome and (outcome.clusters[-1].stories, outcome.clusters[-1].publishers) for outcome in outcomes]
    assert counts == [(1, 1), (2, 2), (1, 1), None, (2, 2)]


def test_a_cluster_shows_no_headline_that_was_retracted():
    edition = ClusterState(NOTHING)
    text = "earthquake strike nepal capital"
    outcomes = run(
        edition,
        [
            fingerprinted("a", text),
            fingerprinted("a", text, 1, retracted=True),
            fingerprinted("b", text, 2),
            fingerprinted("a", text, 3),
        ],
    )
    title = "Earthquake strike nepal capital"
    assert [outcome.clusters[-1].headline for outcome in outcomes] == [title, None, None, title]


def test_a_story_of_a_merged_cluster_is_revised_in_the_survivor():
    edition = ClusterState(background("en"))
    stories, outcomes = bridged(ClusterRule(), edition)
    revised = cluster(edition, fingerprinted("1", "another text", 500), len(stories))
    assert revised.assignment.cluster_id == outcomes[0].assignment.cluster_id


def test_a_story_without_words_is_alone():
    edition = ClusterState(NOTHING)
    outcomes = run(edition, [fingerprinted("a", ""), fingerprinted("b", "")])
    assert outcomes[0].assignment.cluster_id != outcomes[1].assignment.cluster_id


def bridged(rule, edition=None):
    """Two clusters about fats, and a story that shows them to be one."""
    headlines = [
        ("study finds no link between saturated fats and heart disease", 0),
        ("making sense of dietary oils and fats", 169),
        ("do saturated fats really cause heart disease", 203),
        ("dietary fats and your heart", 474),
    ]
    stories = [fingerprinted(str(n), " ".join(tokenise(text, "en")[0]), at) for n, (text, at) in enumerate(headlines)]
    return stories, run(edition or ClusterState(background("en"), rule), stories)


def test_merging_keeps_the_id_of_the_older_cluster():
    stories, (oldest, younger, same, bridge) = bridged(ClusterRule())
    assert same.assignment.cluster_id == oldest.assignment.cluster_id != younger.assignment.cluster_id
    assert bridge.assignment.merged == [younger.assignment.cluster_id]
    assert bridge.assignment.cluster_id == oldest.assignment.cluster_id
    merged, survivor = bridge.clusters
    assert (merged.merged_into, merged.stories) == (survivor.id, 0)
    assert (survivor.stories, survivor.first_seen) == (4, stories[0].story.crawled_at)


def test_clusters_that_would_be_too_large_do_not_merge():
    _, (*_, bridge) = bridged(replace(ClusterRule(), largest=3))
    assert bridge.assignment.merged == []


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
    words = {token for row in kept.values() for token in row.weights}
    assert held_by(edition, DOCUMENT_FREQUENCY) == {
        int(token_ids([token])[0]): (0, sum(token in row.weights for row in kept.values())) for token in words
    }


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


@pytest.mark.parametrize("headline", ["same words every time", "same", ""])
def test_ten_thousand_identical_headlines_stay_bounded(headline):
    edition = ClusterState(NOTHING, replace(ClusterRule(), look_back=HOUR))
    for n in range(10_000):
        cluster(edition, fingerprinted(f"s{n}", headline, n / 100), n)
    assert len(edition.index) <= 60 * 100 + 1
    if headline:
        assert len(edition.clusters) == 1


def test_a_cluster_that_is_full_takes_in_no_more():
    edition = ClusterState(NOTHING, replace(RULE, largest=3))
    outcomes = run(edition, [fingerprinted(f"s{n}", "quake strikes city", n) for n in range(5)])
    ids = [outcome.assignment.cluster_id for outcome in outcomes]
    assert ids[0] == ids[1] == ids[2] != ids[3] == ids[4]


@pytest.mark.parametrize(
    ("first", "second", "copy"),
    [
        ("quake strike nepal capital many dead", "quake strike nepal capital many dead", True),
        ("quake strike nepal capital many dead", "quake strike nepal capital many dead breaking", True),
        ("quake strike nepal capital many dead", "quake strike nepal capital many", True),
        ("quake strike nepal capital many dead", "quake strike nepal village many dead after tremor", False),
        ("quake strike nepal capital many", "quake strike nepal capital many dead after tremor monday", True),
        ("quake strike nepal capital many", "after tremor quake strike nepal capital many dead monday", False),
        ("quake strike nepal capital", "quake strike nepal", False),
    ],
)
def test_copies_are_linked_to_the_first(first, second, copy):
    edition = ClusterState(NOTHING)
    _, later = run(edition, [fingerprinted("a", first), fingerprinted("b", second, 1)])
    assert later.assignment.duplicate_of == ("a" if copy else None)


def test_a_copied_body_makes_a_copy_whatever_its_headline():
    body = "The ground shook for a minute, residents of the capital said on Monday. " * 8
    edition = ClusterState(NOTHING)
    first, copy, other = run(
        edition,
        [
            fingerprinted("a", "quake strike nepal capital", body=body),
            fingerprinted("b", "wire report monday", 1, body=body.replace("Monday", "Tuesday", 1)),
            fingerprinted(
                "c", "wire story sunday", 2, body="Shares fell in early trade as banks cut their forecasts. " * 9
            ),
        ],
    )
    assert copy.assignment.duplicate_of == "a"
    assert copy.assignment.cluster_id == first.assignment.cluster_id
    assert other.assignment.duplicate_of is None


def test_a_lead_helps_to_match_and_weighs_less_than_the_headline():
    edition = ClusterState(NOTHING)
    (outcome,) = run(edition, [fingerprinted("a", "quake city", body="quake tremor rubble")])
    weights = outcome.assignment.weights
    assert set(weights) == {"quake", "city", "tremor", "rubble"}
    assert weights["tremor"] < weights["city"]


@given(streams)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=30)
def test_decisions_are_the_same_uncompiled(stream):
    stories = records(stream)
    compiled = [outcome and outcome.assignment for outcome in run(ClusterState(NOTHING, RULE), stories)]
    with pytest.MonkeyPatch.context() as patch:
        uncompiled(patch, *KERNELS)
        plain = [outcome and outcome.assignment for outcome in run(ClusterState(NOTHING, RULE), stories)]
    assert plain == compiled
