"""Corrections and retractions of stories that were counted."""

import pytest

from pipeline.codec import InvalidRecord
from pipeline.stages.detect.stage import detect
from pipeline.stages.detect.state import DetectState
from tests.make import NOON, assignment, revision
from tests.stages.detect.counting import RULE, burst, picture, run


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
