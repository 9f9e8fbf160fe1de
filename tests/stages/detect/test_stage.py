"""Detect: the exact count, the course of an event, and that the state is a function of its rows."""

from pipeline.stages.detect.restore import restore
from pipeline.stages.detect.state import DetectState
from pipeline.times import to_micros
from tests.make import assignment
from tests.stages.detect.counting import RULE, burst, in_order, run


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
    assert [(update.event_id, update.state, update.sequence) for update in updates] == [("ea", "reopened", 3)]


def test_an_event_that_breaks_again_goes_on_under_its_id():
    edition = DetectState(RULE)
    run(edition, [*burst(4), *burst(1, at=70, cluster_id="cb", first=4)])
    updates = run(edition, burst(4, at=80, first=5))
    assert [(update.event_id, update.state, update.sequence) for update in updates] == [("ea", "reopened", 3)]


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


def test_evidence_names_the_first_story_and_then_the_most_central():
    texts = ["odd one here", "quake city", "quake city dead", "quake city toll"]
    rows = [assignment(n, "ca", f"s{n}", text, n, publisher="pqrs"[n]) for n, text in enumerate(texts)]
    (update,) = run(DetectState(RULE), rows)
    assert [story.id for story in update.stories] == ["s0", "s1", "s2", "s3"]
    assert update.headline == "Quake city"
    assert to_micros(update.at) == to_micros(rows[-1].story.crawled_at)
