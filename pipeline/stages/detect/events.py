"""Events: how a cluster's event starts, is updated, is reopened, gives way to another and ends."""

from bisect import bisect_left, bisect_right
from typing import Literal

import msgspec

from pipeline.records import EventMark, EventUpdate
from pipeline.stages.detect.evidence import Cause, describe
from pipeline.stages.detect.related import related_events
from pipeline.stages.detect.renewal import MIN_FOR_SIMILARITY, burst, renew_features, renew_score
from pipeline.stages.detect.state import CountedCluster, DetectState, last_window
from pipeline.stages.detect.window import breaking_window, may_break
from pipeline.stages.detect.window_story import TIME, WindowStory
from pipeline.stages.ids import event_id
from pipeline.stages.rules import DetectRule
from pipeline.stages.weights import log_odds

Window = list[WindowStory]
"""Stories by time."""

POWERS_OF_TWO = frozenset(2**step for step in range(30))
"""What comes again and again is looked at the 1st, 2nd, 4th, 8th ... time: a window beyond the threshold, a retraction."""


def updates_of(state: DetectState, counted: CountedCluster, cause: Cause, new: WindowStory) -> list[EventUpdate]:
    """The start or the next update of the cluster's event, if the new story brings one."""
    event = counted.event
    if event is not None and event.dismissed:  # it goes on in silence, until the cluster bursts about another
        another = _another_burst(state, counted, event, new)
        return [] if another is None else [_start(state, counted, another, cause)]
    if event is None or not event.active:
        return _first_update(state, counted, cause, new)
    another = _another_burst(state, counted, event, new)
    if another is not None:
        counted.end(state.lifetimes.stream_time)
        ended = describe(state, counted, "ended", last_window(state, counted), cause)
        return [ended, _start(state, counted, another, cause)]
    if 2 * counted.count_of(event) >= 3 * event.reported:
        return [update(state, counted, last_window(state, counted), cause)]
    return []


def _first_update(state: DetectState, counted: CountedCluster, cause: Cause, new: WindowStory) -> list[EventUpdate]:
    """The same of a cluster that has no active event."""
    event = counted.event
    late = new.time < state.lifetimes.horizon
    over = event is not None and counted.last + state.rule.window < state.lifetimes.stream_time
    window = None if late or over else _breaking(counted, new, state.rule)
    if window is None:
        return [] if late or event is not None else _emerging(state, counted, cause, new)
    if event is not None and not _is_another(state, counted, window):
        counted.reopen()
        return [update(state, counted, window, cause, "reopened")]
    return [_start(state, counted, window, cause)]


def _emerging(state: DetectState, counted: CountedCluster, cause: Cause, new: WindowStory) -> list[EventUpdate]:
    """The record that a cluster without an event emerges; there is one at most."""
    rule = state.emerging_rule
    window = None if rule is None or counted.emerged else _breaking(counted, new, rule)
    if window is None:
        return []
    counted.emerged = True
    mark = _mark(state, counted, window, cause)
    return [describe(state, counted, "emerging", window, cause, msgspec.structs.replace(mark, sequence=0))]


def _breaking(counted: CountedCluster, new: WindowStory, rule: DetectRule) -> Window | None:
    """The fullest window that holds the new story and breaks by a rule."""
    low = bisect_left(counted.stories, new.time - rule.window, key=TIME)
    high = bisect_right(counted.stories, new.time + rule.window, key=TIME)
    if high - low <= rule.threshold or not may_break(len(counted.stories), counted.publishers, new.time, rule):
        return None
    near = counted.stories[low:high]
    times, families = [story.time for story in near], [story.family for story in near]
    window = breaking_window(times, families, bisect_left(near, new), rule)
    return None if window is None else near[window[0] : window[1]]


def _fresh_burst(state: DetectState, counted: CountedCluster, event: EventMark, new: WindowStory) -> Window | None:
    """The stories of the window up to the new one that are later than the one in which the event broke, if they break."""
    rule = state.rule
    since = max(new.time - rule.window, event.window_end + 1)
    low = bisect_left(counted.stories, since, key=TIME)
    high = bisect_right(counted.stories, new)
    if high - low - rule.threshold not in POWERS_OF_TWO:
        return None
    fresh = counted.stories[low:high]
    return fresh if len({story.family for story in fresh}) >= rule.min_publishers else None


def _another_burst(state: DetectState, counted: CountedCluster, event: EventMark, new: WindowStory) -> Window | None:
    """The same, if they are about another event."""
    fresh = _fresh_burst(state, counted, event, new)
    return fresh if fresh is not None and _is_another(state, counted, fresh) else None


def _is_another(state: DetectState, counted: CountedCluster, window: Window) -> bool:
    """Whether a burst of the cluster is about another event than all that it had."""
    if state.rule.renew_at >= 1.0 or len(window) < MIN_FOR_SIMILARITY:
        return False
    new = burst([story.weights for story in window])
    for event in reversed(counted.events):  # it is most like the last
        broken = counted.broken_window(event)
        if len(broken) < MIN_FOR_SIMILARITY:
            return False
        features = renew_features(counted.burst_of(event, broken), new, window[-1].time - broken[-1].time)
        if state.observer is not None:
            state.observer.renew([story.id for story in broken], [story.id for story in window], features)
        if renew_score(state.weights.renew, features) < log_odds(state.rule.renew_at):
            return False
    return True


def _start(state: DetectState, counted: CountedCluster, window: Window, cause: Cause) -> EventUpdate:
    """The alert of a new event of the cluster."""
    mark = _mark(state, counted, window, cause)
    counted.emerged = True
    counted.events.append(msgspec.structs.replace(mark, reported=counted.count_of(mark)))
    state.expect_end(counted)
    alert = describe(state, counted, "started", window, cause)
    return msgspec.structs.replace(alert, related_events=related_events(state, counted, window))


def _mark(state: DetectState, counted: CountedCluster, window: Window, cause: Cause) -> EventMark:
    """The mark of the cluster's next event, which breaks in this window."""
    number = len(counted.events) + 1
    return EventMark(
        event_id=event_id(counted.id, number),
        sequence=1,
        active=True,
        started_at=state.lifetimes.stream_time,
        reported=0,
        position=cause.position,
        window_start=window[0].time,
        window_end=window[-1].time,
        since=None if number == 1 else window[0].time,
    )


def update(
    state: DetectState,
    counted: CountedCluster,
    window: Window,
    cause: Cause,
    phase: Literal["updated", "reopened"] = "updated",
) -> EventUpdate:
    """The next update of the current event."""
    counted.move(active=True, ended_at=None, reported=counted.count_of(counted.event))
    state.expect_end(counted)
    return describe(state, counted, phase, window, cause)


def end_events(state: DetectState, cause: Cause) -> list[EventUpdate]:
    """End each event whose window stream time has emptied."""
    updates: list[EventUpdate] = []
    for counted in state.ended():
        counted.end(counted.last + state.rule.window)
        updates.append(describe(state, counted, "ended", last_window(state, counted), cause))
    return updates
