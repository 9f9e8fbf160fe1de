"""Detect: the stories of each cluster are counted in a sliding window; a cluster with more than the threshold breaks.

The rule is looked up for the new story only, among the windows that hold it (`pipeline.stages.counting`). An event then

- starts once: its first update is the alert;
- is updated when it has half as many stories again as when it was last reported;
- is reopened when its cluster breaks again after its end, about the same;
- is announced once as emerging, before it starts, if the rule asks for that;
- ends when stream time has left its last story a window behind;
- gives way to another event when the cluster bursts again about something else (`pipeline.stages.renewal`);
- goes on as one when two clusters with events merge: the older event survives, the other ends and names it;
- is updated when one of its stories is retracted, and ends when none is left. Of many retractions the 1st, 2nd, 4th, 8th ...
  are reported at once, the others with the next update.

Stories come out of order, and archives are read in beside live news. What is over stays over:

    the story's time          may                                        may not
    within the window         all                                        -
    within the look-back      join, count, update, start an event        reopen one
    before that: it is late   join, count, update an active event        start or reopen one

An event that starts when stream time has left it behind ends at once: an alert that comes late is better than none.
"""

from bisect import bisect_left, bisect_right
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from pipeline.codec import InvalidRecord
from pipeline.records import Assignment, Detection, EventMark, EventUpdate, StreamTime
from pipeline.stages.check import check_times
from pipeline.stages.detect.evidence import Cause, describe
from pipeline.stages.detect.related import related_events
from pipeline.stages.detect.renewal import MIN_FOR_SIMILARITY, burst, renew_features, renew_score
from pipeline.stages.detect.state import CountedCluster, DetectState, advance, count, last_window, revise
from pipeline.stages.detect.window import breaking_window, may_break
from pipeline.stages.detect.window_story import TIME, WindowStory
from pipeline.stages.lifetimes import Expired, replay_time
from pipeline.stages.rules import DetectRule
from pipeline.stages.weights import log_odds
from pipeline.times import to_micros

Window = list[WindowStory]
"""Stories by time."""

POWERS_OF_TWO = frozenset(2**step for step in range(30))
"""What comes again and again is looked at the 1st, 2nd, 4th, 8th ... time: a window beyond the threshold, a retraction."""


class Outcome(NamedTuple):
    """What counting one story brought."""

    row: Detection
    updates: list[EventUpdate]
    expired: Expired


class Passed(NamedTuple):
    """What it brought that stream time passed."""

    updates: list[EventUpdate]
    expired: Expired


LARGEST_WEIGHT = 2**32 - 1


def check(assignment: Assignment, end: int, at: datetime) -> None:
    """Raises InvalidRecord for what the cluster stage never writes.

    `end` is where the log ends that positions count in, `at` when the broker took the record in.
    """
    story = assignment.story
    _check_position("Assignment", assignment.position, end)
    check_times(
        "Assignment", at, crawled_at=story.crawled_at, received_at=story.received_at, stream_time=assignment.stream_time
    )
    weights = assignment.weights.values()
    if weights and not 0 <= min(weights) <= max(weights) <= LARGEST_WEIGHT:
        raise InvalidRecord("Wrong Assignment: weights: they should lie between 0 and 2**32 - 1.")
    if assignment.cluster_id in assignment.merged:
        raise InvalidRecord("Wrong Assignment: merged: a cluster is not merged into itself.")


def check_time(passed: StreamTime, end: int, at: datetime) -> None:
    """The same of what a tick brought."""
    _check_position("StreamTime", passed.position, end)
    check_times("StreamTime", at, stream_time=passed.stream_time, received_at=passed.received_at)


def _check_position(record: str, position: int, end: int) -> None:
    if not 0 <= position < end:
        raise InvalidRecord(f"Wrong {record}: position: {position} is not on the log, which ends at {end}.")


def tick_events(state: DetectState, passed: StreamTime) -> Passed | None:
    """Let stream time pass: events end. None where nothing is counted any more, or it came before."""
    if passed.position <= state.position or not state.clusters:
        return None
    replay_time(state.lifetimes, passed)
    state.position = passed.position
    updates = _end_events(state, Cause(passed.edition, passed.position, None, passed.received_at))
    return Passed(updates, advance(state))


def detect(state: DetectState, assignment: Assignment) -> Outcome | None:
    """Count a story in its cluster. An assignment that was counted before changes nothing: None.

    Raises InvalidRecord for a revision of what was never counted.
    """
    story = assignment.story
    if assignment.position <= state.position:
        return None
    time = to_micros(story.crawled_at)
    if assignment.revision:
        return _revision(state, assignment, time)
    replay_time(state.lifetimes, assignment)
    updates = _end_events(state, _cause(assignment))  # before what is dropped: no event ends without an update
    expired = advance(state)
    counted, new, gave_ways = count(state, assignment, time)
    for gave_way in gave_ways:
        window = last_window(state, counted, gave_way)
        goes_on = counted.events[-1].event_id
        updates.append(describe(state, counted, "ended", window, _cause(assignment), gave_way, goes_on))
    brought = [] if story.retracted else _updates(state, counted, assignment, new)
    updates += brought
    if brought:  # a story can start what stream time has left behind
        updates += _end_events(state, _cause(assignment))
    return Outcome(_row(assignment, counted), updates, expired)


def _row(assignment: Assignment, counted: CountedCluster) -> Detection:
    return Detection(assignment=assignment, marks=list(counted.events), emerged=counted.emerged)


def _cause(assignment: Assignment) -> Cause:
    story = assignment.story
    return Cause(story.edition, assignment.position, story.id, story.received_at, story.title)


def _revision(state: DetectState, assignment: Assignment, time: int) -> Outcome:
    """The same of a story that was counted before.

    A correction is reported with the next update, unless it brings what the rule asks for: the publisher that was missing.
    """
    if not state.knows(assignment.cluster_id, time, assignment.story.id):
        raise InvalidRecord(
            f"Wrong Assignment: a revision of story {assignment.story.id!r}, which was never counted in cluster "
            f"{assignment.cluster_id!r}."
        )
    counted, story, before = revise(state, assignment, time)
    updates: list[EventUpdate] = []
    event = counted.event
    if not assignment.story.retracted and (before is None or before.family != story.family):
        updates = _updates(state, counted, assignment, story)
    elif assignment.story.retracted and before is not None and event is not None and event.active:
        window = last_window(state, counted)
        if not window:
            counted.move(active=False)
            updates = [describe(state, counted, "ended", window, _cause(assignment))]
        else:
            state.expect_end(counted)  # its last story may be an earlier one now
            if counted.retract() in POWERS_OF_TWO:
                updates = [_update(state, counted, window, assignment)]
    updates += _end_events(state, _cause(assignment))
    return Outcome(_row(assignment, counted), updates, Expired([], [], []))


def _updates(state: DetectState, counted: CountedCluster, cause: Assignment, new: WindowStory) -> list[EventUpdate]:
    """The start or the next update of the cluster's event, if the new story brings one."""
    event = counted.event
    if event is None or not event.active:
        late = new.time < state.lifetimes.horizon
        over = event is not None and counted.last + state.rule.window < state.lifetimes.stream_time
        window = None if late or over else _breaking(counted, new, state.rule)
        if window is None:
            return [] if late or event is not None else _emerging(state, counted, cause, new)
        if event is not None and not _is_another(state, counted, window):
            counted.reopen()
            return [_update(state, counted, window, cause, "reopened")]
        return [_start(state, counted, window, cause)]
    fresh = _fresh_burst(state, counted, event, new)
    if fresh is not None and _is_another(state, counted, fresh):
        counted.move(active=False)
        ended = describe(state, counted, "ended", last_window(state, counted), _cause(cause))
        return [ended, _start(state, counted, fresh, cause)]
    if 2 * counted.count_of(event) >= 3 * event.reported:
        return [_update(state, counted, last_window(state, counted), cause)]
    return []


def _emerging(state: DetectState, counted: CountedCluster, cause: Assignment, new: WindowStory) -> list[EventUpdate]:
    """The record that a cluster without an event emerges; there is one at most."""
    rule = state.emerging_rule
    window = None if rule is None or counted.emerged else _breaking(counted, new, rule)
    if window is None:
        return []
    counted.emerged = True
    mark = _mark(state, counted, window, cause)
    return [describe(state, counted, "emerging", window, _cause(cause), msgspec.structs.replace(mark, sequence=0))]


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


def _start(state: DetectState, counted: CountedCluster, window: Window, cause: Assignment) -> EventUpdate:
    """The alert of a new event of the cluster."""
    mark = _mark(state, counted, window, cause)
    counted.emerged = True
    counted.events.append(msgspec.structs.replace(mark, reported=counted.count_of(mark)))
    state.expect_end(counted)
    alert = describe(state, counted, "started", window, _cause(cause))
    return msgspec.structs.replace(alert, related_events=related_events(state, counted, window))


def _mark(state: DetectState, counted: CountedCluster, window: Window, cause: Assignment) -> EventMark:
    """The mark of the cluster's next event, which breaks in this window."""
    first = not counted.events
    return EventMark(
        event_id="e" + counted.id[1:] + ("" if first else f"-{len(counted.events) + 1}"),
        sequence=1,
        active=True,
        started_at=state.lifetimes.stream_time,
        reported=0,
        position=cause.position,
        window_start=window[0].time,
        window_end=window[-1].time,
        since=None if first else window[0].time,
    )


def _update(
    state: DetectState,
    counted: CountedCluster,
    window: Window,
    cause: Assignment,
    phase: Literal["updated", "reopened"] = "updated",
) -> EventUpdate:
    """The next update of the current event."""
    counted.move(active=True, reported=counted.count_of(counted.event))
    state.expect_end(counted)
    return describe(state, counted, phase, window, _cause(cause))


def _end_events(state: DetectState, cause: Cause) -> list[EventUpdate]:
    """End each event whose window stream time has emptied."""
    updates: list[EventUpdate] = []
    for counted in state.ended():
        counted.move(active=False)
        updates.append(describe(state, counted, "ended", last_window(state, counted), cause))
    return updates
