"""A cluster emerges once, before it breaks, and only where the rule asks for it."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings

from pipeline.stages.detect.restore import restore
from pipeline.stages.detect.state import DetectState
from pipeline.times import HOUR
from tests.make import assignment
from tests.stages.detect.counting import RULE, burst, in_order, revisions, run, stories
from tests.stages.detect.test_state import revised_and_living, streams

EMERGING = replace(RULE, emerging_threshold=1, emerging_window=HOUR // 2, emerging_publishers=2)


def states(updates):
    return [(update.event_id, update.state, update.sequence) for update in updates]


def test_a_cluster_emerges_under_the_name_that_its_event_will_have():
    updates = run(DetectState(EMERGING), burst(4))
    assert states(updates) == [("ea", "emerging", 0), ("ea", "started", 1)]
    assert (updates[0].stories_in_window, updates[0].rule.threshold, updates[0].merged_into) == (2, 3, None)
    assert states(run(DetectState(RULE), burst(4))) == [("ea", "started", 1)]


def test_too_few_publishers_or_too_long_a_time_do_not_emerge():
    assert run(DetectState(EMERGING), burst(3, publishers="p")) == []
    assert run(DetectState(EMERGING), burst(2, step=40)) == []


def test_it_emerges_once_whatever_merges():
    edition = DetectState(EMERGING)
    assert states(run(edition, burst(2))) == [("ea", "emerging", 0)]
    assert run(edition, [assignment(2, "cb", "b", minutes=100, publisher="p", merged=["ca"])]) == []
    assert run(edition, burst(2, at=150, cluster_id="cb", first=3)) == []


@given(streams, revisions)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_events_are_the_same_with_it_and_after_a_crash_nothing_emerges_again(stream, revisions):
    log = revised_and_living(stories(stream), revisions)
    updates, kept = [], {}
    edition = DetectState(EMERGING)
    for row in log:
        updates += run(edition, [row], kept)
        restored = DetectState(EMERGING)
        restore(restored, in_order(kept))
        assert {key: c.emerged for key, c in restored.clusters.items()} == {
            key: c.emerged for key, c in edition.clusters.items()
        }
    assert [update for update in updates if update.state != "emerging"] == run(DetectState(RULE), log)
    emerged = [update.event_id for update in updates if update.state == "emerging"]
    assert len(emerged) == len(set(emerged))
