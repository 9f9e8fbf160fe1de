"""The counts and events of one edition: how many stories of each cluster lie in a window, exactly, in any order.

For threshold 3 and the new story N:

    time     ----o------o--o-----N-o----o---->
                 |------ window ------|           4 stories: N makes the window break that starts with its first story
                        |------ window ------|    4 stories; of all windows with N the fullest counts, then the earliest

Like the clustering, the state is a function of the rows that are kept (`Detection`): each remembers where the event of its
cluster stood and what was said because of it, so that a lost update is said again, word for word. `restore` is that function.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from pipeline.records import Assignment, Detection, EventMark
from pipeline.stages.lifetimes import Dropped, Lifetimes
from pipeline.times import HOUR, to_micros


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


def restore(edition: Edition, rows: Iterable[Detection]) -> None:
    """Build the state from the rows that were kept.

    Rows that should have been dropped already are dropped with the next story; until then they answer for theirs.
    """
    for row in sorted(rows, key=lambda row: row.assignment.position):
        edition.lifetimes.advance(to_micros(row.assignment.story.crawled_at))
        counted, _ = count(edition, row.assignment)
        counted.event = row.mark
        edition.rows[row.assignment.story.id] = row
    for counted in edition.counted.values():
        if counted.event is not None and counted.event.active:
            edition.expect_end(counted)
    for counted in edition.ended():  # said by the story that moved stream time there: none leaves this undone
        counted.event = next_mark(counted, active=False)


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


def count(edition: Edition, assignment: Assignment) -> tuple[Counted, list[EventMark]]:
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
    insort(counted.stories, (time, story.id))
    counted.publishers[story.publisher] += 1
    edition.lifetimes.touch(counted.id, time)
    edition.position = max(edition.position, assignment.position)
    if counted.event is not None and counted.event.active:
        edition.expect_end(counted)
    return counted, gave_way


def next_mark(counted: Counted, *, active: bool) -> EventMark:
    """Where the cluster's event stands after its next update."""
    event = counted.event
    assert event is not None
    return EventMark(
        event_id=event.event_id,
        sequence=event.sequence + 1,
        active=active,
        started_at=event.started_at,
        reported=len(counted.stories) if active else event.reported,
    )


def last_window(edition: Edition, counted: Counted) -> list[tuple[int, str]]:
    """The stories of the window that ends with the cluster's last story."""
    return counted.stories[bisect_left(counted.stories, (counted.last - edition.rule.window, "")) :]
