"""Detect: the stories of each cluster are counted in a sliding window; a cluster with more than the threshold breaks.

The rule is looked up for the new story only, among the windows that hold it (`pipeline.stages.detect.window`). An event then

- starts once: its first update is the alert;
- is updated when it has half as many stories again as when it was last reported;
- is reopened when its cluster breaks again after its end, about the same;
- is announced once as emerging, before it starts, if the rule asks for that;
- ends when stream time has left its last story a window behind;
- gives way to another event when the cluster bursts again about something else (`pipeline.stages.detect.renewal`);
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

from datetime import datetime
from typing import NamedTuple

from pipeline.codec import InvalidRecord
from pipeline.records import Amended, Assignment, Detection, EventUpdate, StreamTime
from pipeline.stages.check import check_times
from pipeline.stages.detect.events import POWERS_OF_TWO, end_events, update, updates_of
from pipeline.stages.detect.evidence import Cause, describe
from pipeline.stages.detect.state import CountedCluster, DetectState, advance, count, last_window, revise
from pipeline.stages.lifetimes import Expired, replay_time
from pipeline.times import to_micros


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


def check_amended(amended: Amended, end: int, at: datetime) -> None:
    """The same of what an amendment changed."""
    _check_position("Amended", amended.position, end)
    check_times("Amended", at, stream_time=amended.stream_time, amended_at=amended.amendment.at)
    check_moves(amended)


def check_moves(amended: Amended) -> None:
    """Raises InvalidRecord for an amendment that cannot be carried out, whatever there is."""
    left = [story.cluster_id for story in amended.moved]
    wrong = {
        "amendment.at: it should be the time at which the amendment came": amended.refused is None
        and amended.amendment.at is None,
        "merged: a cluster is not merged into itself, and not twice": amended.cluster_id in amended.merged
        or len(set(amended.merged)) < len(amended.merged),
        "moved: a story is moved once, and out of another cluster": amended.cluster_id in left
        or len({story.id for story in amended.moved}) < len(left),
        "moved: a cluster that is merged has its stories moved with it": not set(left).isdisjoint(amended.merged),
        "refused: what is refused changes nothing": amended.refused is not None
        and bool(amended.moved or amended.merged or amended.cluster_id),
    }
    for what, is_so in wrong.items():
        if is_so:
            raise InvalidRecord(f"Wrong Amended: {what}.")


def _check_position(record: str, position: int, end: int) -> None:
    if not 0 <= position < end:
        raise InvalidRecord(f"Wrong {record}: position: {position} is not on the log, which ends at {end}.")


def tick_events(state: DetectState, passed: StreamTime) -> Passed | None:
    """Let stream time pass: events end. None where nothing is counted any more, or it came before."""
    if passed.position <= state.position or not state.clusters:
        return None
    replay_time(state.lifetimes, passed)
    state.position = passed.position
    updates = end_events(state, Cause(passed.edition, passed.position, None, passed.received_at))
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
    updates = end_events(state, _cause(assignment))  # before what is dropped: no event ends without an update
    expired = advance(state)
    counted, new, gave_ways = count(state, assignment, time)
    for gave_way in gave_ways:
        window = last_window(state, counted, gave_way)
        goes_on = counted.events[-1].event_id
        updates.append(describe(state, counted, "ended", window, _cause(assignment), gave_way, goes_on))
    brought = [] if story.retracted else updates_of(state, counted, _cause(assignment), new)
    updates += brought
    if brought:  # a story can start what stream time has left behind
        updates += end_events(state, _cause(assignment))
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
        updates = updates_of(state, counted, _cause(assignment), story)
    elif assignment.story.retracted and before is not None and event is not None and event.active:
        window = last_window(state, counted)
        if not window:
            counted.end(state.lifetimes.stream_time)
            updates = [describe(state, counted, "ended", window, _cause(assignment))]
        else:
            state.expect_end(counted)  # its last story may be an earlier one now
            if counted.retract() in POWERS_OF_TWO:
                updates = [update(state, counted, window, _cause(assignment))]
    updates += end_events(state, _cause(assignment))
    return Outcome(_row(assignment, counted), updates, Expired([], [], [], []))
