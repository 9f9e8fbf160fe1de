"""Detect: the stories of each cluster are counted in a sliding window; a cluster with more than the threshold breaks.

The rule is looked up for the new story only, among the windows that hold it (`pipeline.stages.counting`). An event then

- starts once: its first update is the alert;
- is updated when its cluster has half as many stories again as when it was last told of, or breaks again after its end;
- ends when stream time has left its last story a window behind;
- goes on as one when two clusters with events merge: the older event survives, the other ends and names it.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from pipeline.records import Assignment, Detection, EventMark, EventUpdate
from pipeline.stages.counting import Counted, Edition, advance, breaking_window, count, last_window, next_mark
from pipeline.stages.evidence import describe
from pipeline.stages.lifetimes import Dropped
from pipeline.times import from_micros, to_micros


@dataclass(frozen=True, slots=True)
class Outcome:
    """What counting one story brought."""

    row: Detection
    dropped: Dropped


def detect(edition: Edition, assignment: Assignment) -> Outcome | None:
    """Count a story in its cluster; the updates it caused are in the row.

    An assignment that was counted before gets the same row again, or None when the row has gone.
    """
    story = assignment.story
    if assignment.position <= edition.position:
        row = edition.rows.get(story.id)
        return None if row is None or row.assignment.position != assignment.position else Outcome(row, Dropped([], []))
    dropped = advance(edition, to_micros(story.crawled_at))
    updates = _end_events(edition, assignment)
    counted, absorbed_events = count(edition, assignment)
    edition.rows[story.id] = Detection(assignment=assignment, updates=[], mark=counted.event)
    updates += [_absorbed(edition, counted, event, assignment) for event in absorbed_events]
    update = _update(edition, counted, assignment)
    if update is not None:
        updates.append(update)
    updates += _end_events(edition, assignment)  # a late story can start or reopen what stream time has left behind
    row = edition.rows[story.id] = Detection(assignment=assignment, updates=updates, mark=counted.event)
    return Outcome(row, dropped)


def _update(edition: Edition, counted: Counted, cause: Assignment) -> EventUpdate | None:
    """The start or the next update of the cluster's event, if the new story brings one."""
    rule, event = edition.rule, counted.event
    total = len(counted.stories)
    if event is not None and event.active:
        if 2 * total < 3 * event.reported:
            return None
        counted.event = next_mark(counted, active=True)
        return describe(edition, counted, "updated", counted.event, last_window(edition, counted), cause)
    if total <= rule.threshold or len(counted.publishers) < rule.min_publishers:
        return None
    new = bisect_left(counted.stories, (to_micros(cause.story.crawled_at), cause.story.id))
    low = bisect_left(counted.stories, (counted.stories[new][0] - rule.window, ""))
    high = bisect_right(counted.stories, (counted.stories[new][0] + rule.window + 1, ""))
    near = counted.stories[low:high]
    publishers = [edition.rows[story_id].assignment.story.publisher for _, story_id in near]
    window = breaking_window([time for time, _ in near], publishers, new - low, rule)
    if window is None:
        return None
    stories = near[window[0] : window[1]]
    if event is None:
        counted.event = EventMark(
            event_id="e" + counted.id[1:],
            sequence=1,
            active=True,
            started_at=from_micros(edition.lifetimes.stream_time),
            reported=total,
        )
    else:
        counted.event = next_mark(counted, active=True)
    edition.expect_end(counted)
    return describe(edition, counted, "started" if event is None else "updated", counted.event, stories, cause)


def _end_events(edition: Edition, cause: Assignment) -> list[EventUpdate]:
    """End each event whose window stream time has emptied."""
    updates: list[EventUpdate] = []
    for counted in edition.ended():
        window = last_window(edition, counted)
        counted.event = next_mark(counted, active=False)
        updates.append(describe(edition, counted, "ended", counted.event, window, cause))
    return updates


def _absorbed(edition: Edition, counted: Counted, event: EventMark, cause: Assignment) -> EventUpdate:
    """The last word on an event that goes on as another."""
    assert counted.event is not None
    last = EventMark(
        event_id=event.event_id,
        sequence=event.sequence + 1,
        active=False,
        started_at=event.started_at,
        reported=event.reported,
    )
    window = last_window(edition, counted)
    return describe(edition, counted, "ended", last, window, cause, merged_into=counted.event.event_id)
