"""The state of the counting: rows are those of living stories, and a crash changes no update."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.stages.detect.restore import restore
from pipeline.stages.detect.stage import detect
from pipeline.stages.detect.state import DetectState, advance
from tests.make import assignment, long_and_short
from tests.stages.detect.counting import RULE, burst, in_order, keep_row, picture, revised, revisions, run, stories

# A stream of (cluster, minutes early or late, publisher, whether the other cluster is merged into this one).
streams = long_and_short(
    st.tuples(
        st.sampled_from("aaaabc"),
        st.sampled_from([0, 0, 0, 1, 2, -30, -60, 60]),
        st.sampled_from("pqrs"),
        st.booleans(),
    )
)


def revised_and_living(log, revisions):
    """The same, without revisions of what has died: to the cluster stage those are new stories."""
    made, edition = [], DetectState(RULE)
    for row in revised(log, revisions):
        of = edition.clusters.get(row.cluster_id)
        if row.revision and (of is None or row.story.id not in {story.id for story in of.stories + of.retracted}):
            continue
        detect(edition, row)
        made.append(row)
    return made


@given(streams, revisions)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_every_event_has_one_start_and_its_sequence_has_no_gap(stream, revisions):
    by_event = {}
    for update in run(DetectState(RULE), revised_and_living(stories(stream), revisions)):
        by_event.setdefault(update.event_id, []).append(update)
        assert update.stories_in_window <= update.stories_total
        assert len(update.stories) == update.stories_in_window
        assert len({story.id for story in update.stories}) == len(update.stories)
        assert update.window_end - update.window_start <= update.last_seen - update.first_seen
    for updates in by_event.values():
        assert [update.sequence for update in updates] == list(range(1, len(updates) + 1))
        assert [update.state for update in updates].count("started") == 1
        assert updates[0].state == "started"
        assert all(update.merged_into is None for update in updates[:-1])


def test_nothing_stays_of_clusters_that_were_merged_one_into_the_other_and_died():
    edition = DetectState(RULE)
    merged = [
        assignment(0, "cc", "x"),
        assignment(1, "cb", "y", merged=["cc"]),
        assignment(2, "ca", "z", merged=["cb"]),
    ]
    run(edition, [*merged, *burst(1, at=500, cluster_id="cd", first=3)])
    assert (edition.lifetimes.survivor, [*edition.clusters]) == ({}, ["cd"])


@given(streams, st.integers(3, 40), revisions)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_the_rows_that_are_kept_are_those_of_living_stories_and_their_revisions(stream, step, revisions):
    edition, kept = DetectState(RULE), {}
    run(edition, revised_and_living(stories(stream, step), revisions), kept)
    living = {story.id for counted in edition.clusters.values() for story in counted.stories + counted.retracted}
    assert {story_id for story_id, revision in kept if not revision} == living
    assert {story_id for story_id, revision in kept if revision} == edition.revised <= living
    assert {
        edition.lifetimes.resolve(cluster_id) for cluster_id in edition.lifetimes.survivor
    } <= edition.clusters.keys()


@given(streams, st.integers(0, 40), st.integers(0, 40), st.integers(3, 40), revisions)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=300)
def test_a_crash_changes_no_update(stream, survived, committed, step, revisions):
    """The changelog kept what was committed of a prefix; the log is delivered again from an earlier offset."""
    log = revised_and_living(stories(stream, step), revisions)
    survived = min(survived, len(log))
    committed = min(survived, committed)
    calm, crashed = DetectState(RULE), DetectState(RULE)
    expected, rows = [], {}
    for number, row in enumerate(log):
        outcome = detect(calm, row)
        expected.append(outcome)
        if number < survived:
            keep_row(rows, outcome)
    restore(crashed, in_order(rows))
    for number, row in enumerate(log[committed:], committed):
        outcome = detect(crashed, row)
        if number < survived:
            assert outcome is None
        else:
            assert (outcome.row, outcome.updates) == (expected[number].row, expected[number].updates)
    for edition in (calm, crashed):  # what died with the last story goes with the next
        advance(edition)
    assert picture(crashed) == picture(calm)
