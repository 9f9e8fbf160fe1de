"""Detect: the stories of each cluster are counted in a sliding window; a cluster with more than the threshold breaks.

The count is exact over event time, whatever order the stories come in. For threshold 3 and the new story N:

    time     ----o------o--o-----N-o----o---->
                 |------ window ------|           4 stories: N makes the window break that starts with its first story
                        |------ window ------|    4 stories; of all windows with N the fullest counts, then the earliest

The rule is looked up for the new story only, among the windows that hold it. An event then

- starts once: its first update is the alert;
- is updated when its cluster has half as many stories again as when it was last told of, or breaks again after its end;
- ends when stream time has left its last story a window behind;
- goes on as one when two clusters with events merge: the older event survives, the other ends and names it.

Like the clustering, the state of an edition is a function of its rows (`Detection`): each remembers where the event of its
cluster stood and what was said because of it, so that a lost update is said again, word for word.
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Literal

from pipeline.records import Assignment, Detection, EventMark, EventStory, EventUpdate, Rule
from pipeline.stages.lifetimes import Dropped, Lifetimes
from pipeline.times import HOUR, SECOND, from_micros, to_micros

EVIDENCE = 50
"""The most stories that an update carries."""


@dataclass(frozen=True, slots=True)
class DetectRule:
    """When a cluster breaks; times in microseconds."""

    threshold: int = 15
    """more stories than this ..."""
    window: int = 4 * HOUR
    """... within this time ..."""
    min_publishers: int = 10
    """... from at least this many publishers: one publisher's flood is no event"""
    look_back: int = 96 * HOUR
    """how long the stories of a cluster without new ones are kept; as in ClusterRule"""


@dataclass(slots=True)
class Counted:
    """A cluster as it is counted: its stories by time, its publishers, and its event if it broke."""

    id: str
    stories: list[tuple[int, str]] = field(default_factory=list)
    publishers: Counter[str] = field(default_factory=Counter)
    event: EventMark | None = None

    @property
    def last(self) -> int:
        """Time of its last story."""
        return self.stories[-1][0]


class Edition:
    """The counts and events of one edition."""

    def __init__(self, rule: DetectRule | None = None) -> None:
        self.rule = rule or DetectRule()
        self.rows: dict[str, Detection] = {}
        self.counted: dict[str, Counted] = {}
        self.lifetimes = Lifetimes(self.rule.look_back)
        self.position = -1
        self._ends: list[tuple[int, str]] = []
        """when each active event ends unless a story comes: a heap of (time, cluster), some out of date"""

    def expect_end(self, of: Counted) -> None:
        """Look at this cluster again when its window has emptied."""
        heappush(self._ends, (of.last + self.rule.window, of.id))

    def ended(self) -> list[Counted]:
        """The clusters whose event is active though its window has emptied; each is returned once."""
        found: dict[str, Counted] = {}
        while self._ends and self._ends[0][0] < self.lifetimes.stream_time:
            _, cluster_id = heappop(self._ends)
            of = self.counted.get(cluster_id)
            if of is None or of.event is None or not of.event.active:
                continue
            if of.last + self.rule.window < self.lifetimes.stream_time:
                found[cluster_id] = of
        return sorted(found.values(), key=lambda of: (of.last, of.id))


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
    counted, absorbed_events = _count(edition, assignment)
    edition.rows[story.id] = Detection(assignment=assignment, updates=[], mark=counted.event)
    updates += [_absorbed(edition, counted, event, assignment) for event in absorbed_events]
    update = _update(edition, counted, assignment)
    if update is not None:
        updates.append(update)
    updates += _end_events(edition, assignment)  # a late story can start or reopen what stream time has left behind
    row = edition.rows[story.id] = Detection(assignment=assignment, updates=updates, mark=counted.event)
    return Outcome(row, dropped)


def restore(edition: Edition, rows: Iterable[Detection]) -> None:
    """Build the state from the rows that were kept.

    Rows that should have been dropped already are dropped with the next story; until then they answer for theirs.
    """
    for row in sorted(rows, key=lambda row: row.assignment.position):
        edition.lifetimes.advance(to_micros(row.assignment.story.crawled_at))
        counted, _ = _count(edition, row.assignment)
        counted.event = row.mark
        edition.rows[row.assignment.story.id] = row
    for counted in edition.counted.values():
        if counted.event is not None and counted.event.active:
            edition.expect_end(counted)
    for counted in edition.ended():  # said by the story that moved stream time there: none leaves this undone
        counted.event = _next_mark(counted, active=False)


def advance(edition: Edition, time: int) -> Dropped:
    """Move stream time on; returns what died of it."""
    lifetimes = edition.lifetimes
    lifetimes.advance(time)
    dropped = Dropped([], [])
    for cluster_id in lifetimes.expire():
        dropped.clusters.append(cluster_id)
        for _, story_id in edition.counted.pop(cluster_id).stories:
            for absorbed in edition.rows.pop(story_id).assignment.merged:
                lifetimes.survivor.pop(absorbed, None)
            dropped.rows.append(story_id)
    return dropped


def breaking_window(times: list[int], publishers: list[str], new: int, rule: DetectRule) -> tuple[int, int] | None:
    """The fullest window that holds the story at index `new` and breaks, as (first, last + 1); None if none breaks.

    `times` ascend. A window holds the stories of `rule.window`, both ends included. Of equally full ones the earliest.
    """
    best: tuple[int, int] | None = None
    start = bisect_left(times, times[new] - rule.window)
    stop = start
    inside: Counter[str] = Counter()
    for first in range(start, new + 1):
        while stop < len(times) and times[stop] - times[first] <= rule.window:
            inside[publishers[stop]] += 1
            stop += 1
        breaks = stop - first > rule.threshold and len(inside) >= rule.min_publishers
        if breaks and (best is None or stop - first > best[1] - best[0]):
            best = (first, stop)
        inside[publishers[first]] -= 1
        if not inside[publishers[first]]:
            del inside[publishers[first]]
    return best


def _count(edition: Edition, assignment: Assignment) -> tuple[Counted, list[EventMark]]:
    """Put the story into its cluster, merge what it showed to be one; returns the events that gave way in it."""
    story = assignment.story
    time = to_micros(story.crawled_at)
    counted = edition.counted.get(assignment.cluster_id)
    if counted is None:
        counted = edition.counted[assignment.cluster_id] = Counted(assignment.cluster_id)
    gave_way: list[EventMark] = []
    for absorbed_id in assignment.merged:
        absorbed = edition.counted.pop(absorbed_id, None)
        if absorbed is None:
            continue
        edition.lifetimes.merge(absorbed_id, counted.id)
        counted.stories = sorted(counted.stories + absorbed.stories)
        counted.publishers.update(absorbed.publishers)
        events = sorted(
            (event for event in (counted.event, absorbed.event) if event is not None),
            key=lambda event: (event.started_at, event.event_id),
        )
        if events:
            counted.event = events[0]
            gave_way += events[1:]
            edition.expect_end(counted)
    insort(counted.stories, (time, story.id))
    counted.publishers[story.publisher] += 1
    edition.lifetimes.touch(counted.id, time)
    edition.position = max(edition.position, assignment.position)
    if counted.event is not None and counted.event.active:
        edition.expect_end(counted)
    return counted, gave_way


def _update(edition: Edition, counted: Counted, cause: Assignment) -> EventUpdate | None:
    """The start or the next update of the cluster's event, if the new story brings one."""
    rule, event = edition.rule, counted.event
    total = len(counted.stories)
    if event is not None and event.active:
        if 2 * total < 3 * event.reported:
            return None
        counted.event = _next_mark(counted, active=True)
        return _say(edition, counted, "updated", counted.event, _last_window(edition, counted), cause)
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
        counted.event = _next_mark(counted, active=True)
    edition.expect_end(counted)
    return _say(edition, counted, "started" if event is None else "updated", counted.event, stories, cause)


def _end_events(edition: Edition, cause: Assignment) -> list[EventUpdate]:
    """End each event whose window stream time has emptied."""
    updates: list[EventUpdate] = []
    for counted in edition.ended():
        window = _last_window(edition, counted)
        counted.event = _next_mark(counted, active=False)
        updates.append(_say(edition, counted, "ended", counted.event, window, cause))
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
    window = _last_window(edition, counted)
    return _say(edition, counted, "ended", last, window, cause, merged_into=counted.event.event_id)


def _next_mark(counted: Counted, *, active: bool) -> EventMark:
    event = counted.event
    assert event is not None
    return EventMark(
        event_id=event.event_id,
        sequence=event.sequence + 1,
        active=active,
        started_at=event.started_at,
        reported=len(counted.stories) if active else event.reported,
    )


def _last_window(edition: Edition, counted: Counted) -> list[tuple[int, str]]:
    """The stories of the window that ends with the cluster's last story."""
    return counted.stories[bisect_left(counted.stories, (counted.last - edition.rule.window, "")) :]


def _say(
    edition: Edition,
    counted: Counted,
    state: Literal["started", "updated", "ended"],
    mark: EventMark,
    window: list[tuple[int, str]],
    cause: Assignment,
    merged_into: str | None = None,
) -> EventUpdate:
    rule = edition.rule
    in_window = [edition.rows[story_id].assignment for _, story_id in window]
    evidence = _by_centrality(in_window)
    return EventUpdate(
        event_id=mark.event_id,
        sequence=mark.sequence,
        state=state,
        cluster_id=counted.id,
        edition=cause.story.edition,
        position=cause.position,
        at=from_micros(edition.lifetimes.stream_time),
        rule=Rule(threshold=rule.threshold, window_seconds=rule.window // SECOND, min_publishers=rule.min_publishers),
        headline=evidence[0].story.title,
        stories_in_window=len(window),
        publishers_in_window=len({row.story.publisher for row in in_window}),
        copies_in_window=sum(row.duplicate_of is not None for row in in_window),
        stories_total=len(counted.stories),
        window_start=from_micros(window[0][0]),
        window_end=from_micros(window[-1][0]),
        first_seen=from_micros(counted.stories[0][0]),
        last_seen=from_micros(counted.last),
        caused_by=cause.story.id,
        caused_by_received_at=cause.story.received_at,
        stories=[
            EventStory(
                id=row.story.id,
                title=row.story.title,
                publisher=row.story.publisher,
                url=row.story.url,
                crawled_at=row.story.crawled_at,
            )
            for row in _first_then_central(in_window, evidence)
        ],
        merged_into=merged_into,
    )


def _by_centrality(rows: list[Assignment]) -> list[Assignment]:
    """The stories, those first whose tokens the others share most: by the mean number of stories that hold a token."""
    holding = Counter(token for row in rows for token in row.weights)
    return sorted(
        rows,
        key=lambda row: (
            -sum(holding[token] for token in row.weights) / max(1, len(row.weights)),
            row.story.crawled_at,
            row.story.id,
        ),
    )


def _first_then_central(in_order: list[Assignment], by_centrality: list[Assignment]) -> list[Assignment]:
    first = in_order[0]
    return [first, *(row for row in by_centrality if row is not first)][:EVIDENCE]
