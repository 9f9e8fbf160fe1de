"""The breaking window: the fullest of those that hold a story."""

from hypothesis import given
from hypothesis import strategies as st

from pipeline.stages.detect.window import breaking_window, may_break
from pipeline.stages.rules import DetectRule

times = st.lists(st.integers(0, 30), min_size=1, max_size=25).map(sorted)


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
