"""Detect: the stories of each cluster are counted in a sliding window; a cluster with more than the threshold breaks.

The rule is looked up for the new story only, among the windows that hold it (`pipeline.stages.counting`). An event then

- starts once: its first update is the alert;
- is updated when it has half as many stories again as when it was last told of, or breaks again after its end;
- ends when stream time has left its last story a window behind;
- gives way to another event when the cluster bursts again about something else (`pipeline.stages.renewal`);
- goes on as one when two clusters with events merge: the older event survives, the other ends and names it;
- is updated when one of its stories is retracted, and ends when none is left.
"""

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import msgspec

from pipeline.records import Assignment, Detection, EventMark, EventUpdate
from pipeline.stages.counting import Counted, Edition, advance, breaking_window, count, last_window, revise
from pipeline.stages.evidence import describe
from pipeline.stages.kept import TIME, Kept
from pipeline.stages.lifetimes import Dropped
from pipeline.stages.renewal import burst, renew_features, renew_score
from pipeline.stages.weights import log_odds
from pipeline.times import to_micros

Window = list[Kept]
"""Stories by time."""

COMPARED_AT = frozenset(2**step for step in range(30))
"""By how much a window must exceed the threshold to be compared with the active event: a look now and then is enough."""

FEWEST = 2
"""Stories that have a mean similarity."""


class Outcome(NamedTuple):
    """What counting one story brought."""

    row: Detection
    updates: list[EventUpdate]
    dropped: Dropped


def detect(edition: Edition, assignment: Assignment) -> Outcome | None:
    """Count a story in its cluster. An assignment that was counted before changes nothing: None."""
    story = assignment.story
    if assignment.position <= edition.position:
        return None
    time = to_micros(story.crawled_at)
    if assignment.revision:
        return _revision(edition, assignment, time)
    dropped = advance(edition, time)
    updates = _end_events(edition, assignment)
    counted, new, gave_ways = count(edition, assignment, time)
    for gave_way in gave_ways:
        window = last_window(edition, counted, gave_way)
        updates.append(describe(edition, counted, "ended", window, assignment, gave_way))
    brought = [] if story.retracted else _updates(edition, counted, assignment, new)
    updates += brought
    if brought:  # a late story can start or reopen what stream time has left behind
        updates += _end_events(edition, assignment)
    return Outcome(Detection(assignment=assignment, marks=list(counted.events)), updates, dropped)


def _revision(edition: Edition, assignment: Assignment, time: int) -> Outcome:
    """The same of a story that was counted before: a retraction is told of at once, a correction with the next update."""
    counted, story, before = revise(edition, assignment, time)
    updates: list[EventUpdate] = []
    event = counted.event
    if not assignment.story.retracted and before is None:
        updates = _updates(edition, counted, assignment, story)
    elif assignment.story.retracted and before is not None and event is not None and event.active:
        window = last_window(edition, counted)
        if window:
            updates = [_told(edition, counted, window, assignment)]
        else:
            counted.move(active=False)
            updates = [describe(edition, counted, "ended", window, assignment)]
    if updates:
        updates += _end_events(edition, assignment)
    return Outcome(Detection(assignment=assignment, marks=list(counted.events)), updates, Dropped([], [], []))


def _updates(edition: Edition, counted: Counted, cause: Assignment, new: Kept) -> list[EventUpdate]:
    """The start or the next update of the cluster's event, if the new story brings one."""
    event = counted.event
    if event is None or not event.active:
        window = _breaking(edition, counted, new)
        if window is None:
            return []
        if event is not None and not _is_another(edition, counted, window):
            return [_told(edition, counted, window, cause)]
        return [_start(edition, counted, window, cause)]
    fresh = _fresh_burst(edition, counted, event, new)
    if fresh is not None and _is_another(edition, counted, fresh):
        counted.move(active=False)
        ended = describe(edition, counted, "ended", last_window(edition, counted), cause)
        return [ended, _start(edition, counted, fresh, cause)]
    if 2 * counted.count_of(event) >= 3 * event.reported:
        return [_told(edition, counted, last_window(edition, counted), cause)]
    return []


def _breaking(edition: Edition, counted: Counted, new: Kept) -> Window | None:
    """The fullest window that holds the new story and breaks."""
    rule = edition.rule
    if len(counted.stories) <= rule.threshold or len(counted.publishers) < rule.min_publishers:
        return None
    low = bisect_left(counted.stories, new.time - rule.window, key=TIME)
    high = bisect_right(counted.stories, new.time + rule.window, key=TIME)
    if high - low <= rule.threshold:
        return None
    near = counted.stories[low:high]
    times, families = [story.time for story in near], [story.family for story in near]
    window = breaking_window(times, families, bisect_left(near, new), rule)
    return None if window is None else near[window[0] : window[1]]


def _fresh_burst(edition: Edition, counted: Counted, event: EventMark, new: Kept) -> Window | None:
    """The stories of the window up to the new one that are later than the one in which the event broke, if they break."""
    rule = edition.rule
    since = max(new.time - rule.window, event.window_end + 1)
    low = bisect_left(counted.stories, since, key=TIME)
    high = bisect_right(counted.stories, new)
    if high - low - rule.threshold not in COMPARED_AT:
        return None
    fresh = counted.stories[low:high]
    return fresh if len({story.family for story in fresh}) >= rule.min_publishers else None


def _is_another(edition: Edition, counted: Counted, window: Window) -> bool:
    """Whether a burst of the cluster is about another event than all that it had."""
    if edition.rule.renew_at >= 1.0 or len(window) < FEWEST:
        return False
    new = burst([story.weights for story in window])
    for event in reversed(counted.events):  # it is most like the last
        broken = _broken_window(counted, event)
        if len(broken) < FEWEST:
            return False
        if event.event_id not in counted.bursts:
            counted.bursts[event.event_id] = burst([story.weights for story in broken])
        features = renew_features(counted.bursts[event.event_id], new, window[-1].time - broken[-1].time)
        if edition.watch is not None:
            edition.watch.renew([story.id for story in broken], [story.id for story in window], features)
        if renew_score(edition.weights.renew, features) < log_odds(edition.rule.renew_at):
            return False
    return True


def _broken_window(counted: Counted, event: EventMark) -> Window:
    """The stories that were in the window in which the event broke."""
    low = bisect_left(counted.stories, event.window_start, key=TIME)
    high = bisect_right(counted.stories, event.window_end, key=TIME)
    return [story for story in counted.stories[low:high] if story.position <= event.position]


def _start(edition: Edition, counted: Counted, window: Window, cause: Assignment) -> EventUpdate:
    """The alert of a new event of the cluster."""
    first = not counted.events
    mark = EventMark(
        event_id="e" + counted.id[1:] + ("" if first else f"-{len(counted.events) + 1}"),
        sequence=1,
        active=True,
        started_at=edition.lifetimes.stream_time,
        reported=0,
        position=cause.position,
        window_start=window[0].time,
        window_end=window[-1].time,
        since=None if first else window[0].time,
    )
    counted.events.append(msgspec.structs.replace(mark, reported=counted.count_of(mark)))
    edition.expect_end(counted)
    return describe(edition, counted, "started", window, cause)


def _told(edition: Edition, counted: Counted, window: Window, cause: Assignment) -> EventUpdate:
    """The next update of the current event."""
    counted.move(active=True, reported=counted.count_of(counted.event))
    edition.expect_end(counted)
    return describe(edition, counted, "updated", window, cause)


def _end_events(edition: Edition, cause: Assignment) -> list[EventUpdate]:
    """End each event whose window stream time has emptied."""
    updates: list[EventUpdate] = []
    for counted in edition.ended():
        counted.move(active=False)
        updates.append(describe(edition, counted, "ended", last_window(edition, counted), cause))
    return updates
