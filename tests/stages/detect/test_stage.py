"""Detect: the exact count, the course of an event, and that the state is a function of its rows."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.codec import InvalidRecord, decode, encode
from pipeline.records import Detection
from pipeline.stages.detect.stage import detect
from pipeline.stages.detect.state import DetectState, advance, restore
from pipeline.stages.detect.window import breaking_window, may_break
from pipeline.stages.rules import DetectRule
from pipeline.times import HOUR, SECOND, to_micros
from tests.make import LONGEST, NOON, assignment, long_and_short, revision

RULE = DetectRule(threshold=3, window=HOUR, min_publishers=2, look_back=3 * HOUR)

times = st.lists(st.integers(0, 30), min_size=1, max_size=25).map(sorted)
# A stream of (cluster, minutes early or late, publisher, whether the other cluster is merged into this one).
streams = long_and_short(
    st.tuples(
        st.sampled_from("aaaabc"),
        st.sampled_from([0, 0, 0, 1, 2, -30, -60, 60]),
        st.sampled_from("pqrs"),
        st.booleans(),
    )
)
# For each place in a stream, how far before it a story came that is revised there instead, and whether it is retracted.
revisions = st.lists(
    st.tuples(st.sampled_from([0, 0, 0, 0, 1, 2, 3, 5, 8, 13]), st.booleans()), min_size=LONGEST, max_size=LONGEST
)


def stories(stream, step=7):
    """Assignments as the cluster stage could make them: a merged cluster gets no more stories."""
    merged = {}
    made = []
    for position, (drawn, shift, publisher, merges) in enumerate(stream):
        cluster_id = drawn
        while cluster_id in merged:
            cluster_id = merged[cluster_id]
        absorbed = [other for other in "abc" if other > cluster_id and other not in merged] if merges else []
        merged |= dict.fromkeys(absorbed, cluster_id)
        made.append(
            assignment(
                position, f"c{cluster_id}", f"s{position}", minutes=step * position + shift, publisher=publisher,
                merged=[f"c{other}" for other in absorbed],
            )
        )  # fmt: skip
    return made


def revised(log, revisions):
    """The log with some of its assignments made revisions of earlier ones, as the cluster stage would make them."""
    merged, gone, made = {}, set(), []
    for row in log:
        back, retracted = revisions[row.position]
        old = log[max(0, row.position - back)]
        if old is row or old.position in gone or old.revision:
            made.append(row)
            merged |= dict.fromkeys(row.merged, row.cluster_id)
            continue
        gone.add(row.position)  # its story never came
        cluster_id = old.cluster_id
        while cluster_id in merged:
            cluster_id = merged[cluster_id]
        minutes = (to_micros(old.story.crawled_at) - to_micros(NOON)) / 60 / SECOND
        publisher = row.story.publisher
        made.append(
            revision(
                row.position, cluster_id, old.story.id, "new text", minutes, publisher=publisher, retracted=retracted
            )
        )
    return made


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


def keep_row(kept, outcome):
    """Do to the rows, by story and whether they are revisions, what an outcome says."""
    for story_id in outcome.expired.rows:
        del kept[story_id, False]
    for story_id in outcome.expired.revised:
        del kept[story_id, True]
    row = outcome.row.assignment
    kept[row.story.id, row.revision] = outcome.row


def in_order(kept):
    """The rows as they come from a changelog."""
    rows = [decode(encode(row), Detection) for row in kept.values()]
    return sorted(rows, key=lambda row: row.assignment.position)


def run(edition, rows, kept=None):
    """The updates that assignments bring; `kept` becomes the rows that are kept."""
    kept = {} if kept is None else kept
    updates = []
    for row in rows:
        outcome = detect(edition, row)
        updates += outcome.updates
        keep_row(kept, outcome)
    return updates


def burst(count, at=0.0, cluster_id="ca", first=0, publishers="pqrs", step=1.0):
    return [
        assignment(
            first + n,
            cluster_id,
            f"{cluster_id}{first + n}",
            minutes=at + step * n,
            publisher=publishers[n % len(publishers)],
        )
        for n in range(count)
    ]


@given(times, st.data())
def test_the_breaking_window_is_the_fullest_of_all_that_hold_the_story(times, data):
    publishers = data.draw(st.lists(st.sampled_from("pqr"), min_size=len(times), max_size=len(times)))
    new = data.draw(st.integers(0, len(times) - 1))
    rule = DetectRule(threshold=3, window=8, min_publishers=2)
    fullest = None
    for first in range(len(times)):
        stop = first
        while stop < len(times) and times[stop] - times[first] <= rule.window:
            stop += 1
        breaks = stop - first > rule.threshold and len(set(publishers[first:stop])) >= rule.min_publishers
        if first <= new < stop and breaks and (fullest is None or stop - first > fullest[1] - fullest[0]):
            fullest = (first, stop)
    assert breaking_window(times, publishers, new, rule) == fullest


def test_more_than_the_threshold_within_the_window_starts_an_event_once():
    updates = run(DetectState(RULE), burst(5))
    assert [(update.state, update.sequence, update.stories_in_window) for update in updates] == [("started", 1, 4)]
    assert updates[0].caused_by == "ca3"
    assert updates[0].stories[0].id == "ca0"


def test_exactly_the_threshold_is_no_event():
    assert run(DetectState(RULE), burst(3)) == []


def test_the_window_includes_both_ends_and_nothing_beyond():
    assert run(DetectState(RULE), burst(4, step=20.0)) != []
    assert run(DetectState(RULE), burst(4, step=20.001)) == []


def test_a_flood_of_one_publisher_is_no_event():
    edition = DetectState(RULE)
    assert run(edition, burst(500, publishers="p", step=0.1)) == []
    assert len(run(edition, burst(1, at=50, first=500, publishers="q"))) == 1


def test_a_story_out_of_order_completes_the_window_it_belongs_to():
    edition = DetectState(RULE)
    assert run(edition, [*burst(3), *burst(1, at=150, first=3)]) == []
    (update,) = run(edition, burst(1, at=30, first=4, publishers="q"))
    assert (update.state, update.stories_in_window, update.stories_total) == ("started", 4, 5)
    assert update.window_end < update.at


def test_updates_come_when_an_event_has_half_as_many_stories_again():
    updates = run(DetectState(RULE), burst(30))
    assert [update.stories_total for update in updates] == [4, 6, 9, 14, 21]
    assert [update.sequence for update in updates] == [1, 2, 3, 4, 5]


def test_an_event_ends_when_stream_time_leaves_its_last_story_a_window_behind():
    edition = DetectState(RULE)
    run(edition, burst(4))
    assert run(edition, burst(1, at=63, cluster_id="cb", first=4)) == []
    (end,) = run(edition, burst(1, at=63.01, cluster_id="cb", first=5))
    assert (end.event_id, end.state, end.sequence, end.cluster_id) == ("ea", "ended", 2, "ca")
    assert run(edition, burst(1, at=64, cluster_id="cb", first=6)) == []


def test_a_late_story_can_start_what_is_over_already():
    edition = DetectState(RULE)
    run(edition, [*burst(3), *burst(1, at=120, cluster_id="cb", first=3)])
    updates = run(edition, burst(1, at=30, first=4))
    assert [(update.event_id, update.state, update.sequence) for update in updates] == [
        ("ea", "started", 1),
        ("ea", "ended", 2),
    ]


def test_a_restored_event_that_has_ended_stays_ended_and_goes_on_in_sequence():
    old, new, kept = DetectState(RULE), DetectState(RULE), {}
    run(old, [*burst(4), *burst(2, at=70, cluster_id="cb", first=4)], kept)
    restore(new, [row for row in in_order(kept) if row.assignment.position != 4])  # the one that ended it is gone
    assert run(new, burst(1, at=72, cluster_id="cb", first=6)) == []
    updates = run(new, burst(4, at=80, first=7))
    assert [(update.event_id, update.state, update.sequence) for update in updates] == [("ea", "updated", 3)]


def test_an_event_that_breaks_again_goes_on_under_its_id():
    edition = DetectState(RULE)
    run(edition, [*burst(4), *burst(1, at=70, cluster_id="cb", first=4)])
    updates = run(edition, burst(4, at=80, first=5))
    assert [(update.event_id, update.state, update.sequence) for update in updates] == [("ea", "updated", 3)]


def test_two_events_that_merge_go_on_as_the_older():
    edition = DetectState(RULE)
    run(edition, [*burst(4), *burst(4, at=5, cluster_id="cb", first=4)])
    updates = run(edition, [assignment(8, "ca", "x", minutes=10, merged=["cb"])])
    assert [(u.event_id, u.state, u.merged_into) for u in updates] == [("eb", "ended", "ea"), ("ea", "updated", None)]
    assert updates[1].stories_total == 9


def test_an_event_survives_in_a_cluster_that_had_none():
    edition = DetectState(RULE)
    run(edition, [*burst(1), *burst(4, at=5, cluster_id="cb", first=1)])
    updates = run(
        edition, [assignment(5 + n, "ca", f"x{n}", minutes=10, merged=["cb"] if not n else []) for n in range(3)]
    )
    assert {(update.event_id, update.cluster_id, update.state) for update in updates} == {("eb", "ca", "updated")}


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


def test_a_retraction_is_told_of_at_once_and_a_correction_with_the_next_update():
    edition = DetectState(RULE)
    log = burst(6)
    run(edition, log[:5])
    assert run(edition, [revision(10, "ca", "ca0", "corrected text", 0, publisher="p")]) == []
    (update,) = run(edition, [revision(11, "ca", "ca1", minutes=1, publisher="q", retracted=True)])
    assert (update.state, update.stories_in_window, update.stories_total, update.caused_by) == ("updated", 4, 4, "ca1")
    assert [story.id for story in update.stories] == ["ca0", "ca2", "ca3", "ca4"]
    assert update.stories[0].title == "Corrected text"
    assert update.stories[0].crawled_at == log[0].story.crawled_at


def test_retracted_stories_do_not_break_and_do_when_they_are_back():
    edition = DetectState(RULE)
    run(edition, burst(3))
    assert run(edition, [assignment(3, "ca", "ca3", minutes=3, publisher="s", retracted=True)]) == []
    (alert,) = run(edition, [revision(4, "ca", "ca3", minutes=3, publisher="s")])
    assert (alert.state, alert.stories_in_window, alert.caused_by) == ("started", 4, "ca3")


def test_an_event_ends_with_its_last_story():
    edition = DetectState(RULE)
    run(edition, burst(4))
    updates = run(
        edition, [revision(10 + n, "ca", f"ca{n}", minutes=n, publisher="pqrs"[n], retracted=True) for n in range(4)]
    )
    assert [(update.state, update.stories_total) for update in updates] == [
        ("updated", 3),
        ("updated", 2),
        ("ended", 0),
    ]
    assert updates[-1].stories == []
    assert (updates[-1].window_start, updates[-1].first_seen) == (NOON, NOON)
    assert run(edition, burst(1, at=90, cluster_id="cb", first=20)) == []


def test_nothing_stays_of_clusters_that_were_merged_one_into_the_other_and_died():
    edition = DetectState(RULE)
    merged = [
        assignment(0, "cc", "x"),
        assignment(1, "cb", "y", merged=["cc"]),
        assignment(2, "ca", "z", merged=["cb"]),
    ]
    run(edition, [*merged, *burst(1, at=500, cluster_id="cd", first=3)])
    assert (edition.lifetimes.survivor, [*edition.clusters]) == ({}, ["cd"])


def test_a_story_that_comes_retracted_reopens_no_event():
    edition = DetectState(RULE)
    run(edition, [*burst(5), *burst(1, at=70, cluster_id="cb", first=5)])
    assert run(edition, [assignment(6, "ca", "late", minutes=5, publisher="q", retracted=True)]) == []


def test_a_story_whose_publisher_is_corrected_counts_for_that_one():
    edition = DetectState(RULE)
    run(edition, burst(4, publishers="p"))
    (alert,) = run(edition, [revision(4, "ca", "ca0", minutes=0, publisher="q")])
    assert (alert.state, alert.caused_by, alert.publishers_in_window) == ("started", "ca0", 2)


def test_a_story_that_is_retracted_and_restored_many_times_brings_few_updates():
    edition = DetectState(RULE)
    run(edition, burst(30))
    toggles = [revision(100 + n, "ca", "ca7", minutes=7, publisher="s", retracted=n % 2 == 0) for n in range(1_000)]
    assert len(run(edition, toggles)) == 9, "the 1st, 2nd, 4th ... 256th of 500 retractions"


def test_a_revision_of_what_was_never_counted_is_refused_and_changes_nothing():
    edition = DetectState(RULE)
    run(edition, burst(4))
    before = picture(edition)
    for unknown in (
        revision(9, "cx", "ca0", minutes=0),
        revision(9, "ca", "x", minutes=0),
        revision(9, "ca", "ca0", minutes=1),
    ):
        with pytest.raises(InvalidRecord, match="never counted"):
            detect(edition, unknown)
    assert picture(edition) == before


@given(times, st.data())
def test_what_may_not_break_does_not(times, data):
    publishers = data.draw(st.lists(st.sampled_from("pqr"), min_size=len(times), max_size=len(times)))
    new = data.draw(st.integers(0, len(times) - 1))
    least = data.draw(st.integers(1, 3))
    rule = DetectRule(threshold=3, window=8, min_publishers=least)
    by_publisher = {}
    for time, publisher in zip(times, publishers, strict=True):
        by_publisher.setdefault(publisher, []).append(time)
    near = [at for at in times if abs(at - times[new]) <= rule.window]
    held = any(
        len({publisher for at, publisher in zip(times, publishers, strict=True) if start <= at <= start + rule.window})
        >= least
        for start in range(times[new] - rule.window, times[new] + 1)
    )
    assert may_break(len(times), by_publisher, times[new], rule) == (len(times) > 3 and held)
    if breaking_window(times, publishers, new, rule):
        assert near
        assert may_break(len(times), by_publisher, times[new], rule)


def test_an_event_whose_last_stories_are_retracted_may_be_over_at_once():
    edition = DetectState(RULE)
    run(edition, [*burst(5, step=10.0), *burst(1, at=95, cluster_id="cb", first=5)])
    updates = run(edition, [revision(10, "ca", "ca4", minutes=40, publisher="p", retracted=True)])
    assert [update.state for update in updates] == ["updated", "ended"]
    assert run(edition, burst(1, at=99, cluster_id="cb", first=11)) == []


def test_a_flood_of_one_publisher_under_corrected_names_is_no_event():
    edition = DetectState(RULE)
    run(edition, burst(10, publishers="p"))
    names = [revision(10 + n, "ca", f"ca{n}", minutes=n, publisher="p") for n in range(10)]
    assert run(edition, names) == []


def picture(edition):
    counted = {
        key: (c.stories, sorted(c.retracted), c.publishers, c.events, sorted(c.absorbed))
        for key, c in edition.clusters.items()
    }
    return counted, edition.revised, edition.lifetimes.survivor, edition.lifetimes.stream_time, edition.position


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


def test_evidence_names_the_first_story_and_then_the_most_central():
    texts = ["odd one here", "quake city", "quake city dead", "quake city toll"]
    rows = [assignment(n, "ca", f"s{n}", text, n, publisher="pqrs"[n]) for n, text in enumerate(texts)]
    (update,) = run(DetectState(RULE), rows)
    assert [story.id for story in update.stories] == ["s0", "s1", "s2", "s3"]
    assert update.headline == "Quake city"
    assert to_micros(update.at) == to_micros(rows[-1].story.crawled_at)
