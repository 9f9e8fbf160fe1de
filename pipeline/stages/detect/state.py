"""The counts and events of one edition: how many stories of each cluster lie in a window, exactly, in any order.

For threshold 3 and the new story N:

    time     ----o------o--o-----N-o----o---->
                 |------ window ------|           4 stories: N makes the window break that starts with its first story
                        |------ window ------|    4 stories; of all windows with N the fullest counts, then the earliest

Like the clustering, the state is a function of the rows that are kept (`Detection`, `AmendedDetection`): each remembers where the
events of its cluster stood. `pipeline.stages.detect.restore` is that function.
"""

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain

import msgspec

from pipeline.records import Assignment, EventMark
from pipeline.stages.detect.renewal import Burst, burst
from pipeline.stages.detect.volume import Volume
from pipeline.stages.detect.window_story import TIME, TIME_AND_ID, WindowStory, keep, revised
from pipeline.stages.lifetimes import Expired, Lifetimes
from pipeline.stages.observer import DecisionObserver
from pipeline.stages.rules import DetectRule, emerging_rule
from pipeline.stages.weights import Weights, shipped


@dataclass(slots=True)
class CountedCluster:
    """A cluster as it is counted: its stories by time, its publishers, and its events if it broke."""

    id: str
    stories: list[WindowStory] = field(default_factory=list)
    publishers: dict[str, list[int]] = field(default_factory=dict)
    """the times of each publisher family's stories, ascending"""
    events: list[EventMark] = field(default_factory=list)
    """the current one last; the others are over"""
    bursts: dict[str, Burst] = field(default_factory=dict)
    """the windows in which they broke, as far as they have been compared"""
    absorbed: list[str] = field(default_factory=list)
    """the clusters that were merged into it"""
    retracted: list[WindowStory] = field(default_factory=list)
    """its stories that do not count, since they were retracted"""
    amendments: list[str] = field(default_factory=list)
    """those of which it keeps the rows"""
    emerged: bool = False

    @property
    def event(self) -> EventMark | None:
        """The current event, if it broke."""
        return self.events[-1] if self.events else None

    @property
    def last(self) -> int:
        """Time of its last story that counts, if any does."""
        return self.stories[-1].time

    def place_of(self, time: int, story_id: str) -> int | None:
        """Where a story of this time stands among those that count; None if it does not."""
        place = bisect_left(self.stories, (time, story_id), key=TIME_AND_ID)
        return place if place < len(self.stories) and self.stories[place].id == story_id else None

    def count_of(self, event: EventMark | None) -> int:
        """How many stories are the event's."""
        if event is None or event.since is None:
            return len(self.stories)
        return len(self.stories) - bisect_left(self.stories, event.since, key=TIME)

    def stories_of(self, event: EventMark | None) -> list[WindowStory]:
        """The stories that are the event's: from its first window on."""
        if event is None or event.since is None:
            return self.stories
        return self.stories[bisect_left(self.stories, event.since, key=TIME) :]

    def broken_window(self, event: EventMark) -> list[WindowStory]:
        """The stories that were in the window in which the event broke."""
        low = bisect_left(self.stories, event.window_start, key=TIME)
        high = bisect_right(self.stories, event.window_end, key=TIME)
        return [story for story in self.stories[low:high] if story.position <= event.position]

    def burst_of(self, event: EventMark, broken: list[WindowStory]) -> Burst:
        """The mean of the window in which the event broke, which holds these stories; it is computed once."""
        if event.event_id not in self.bursts:
            self.bursts[event.event_id] = burst([story.weights for story in broken])
        return self.bursts[event.event_id]

    def retract(self) -> int:
        """Count a retraction in the current event; returns how many it has had."""
        event = self.events[-1]
        self.events[-1] = msgspec.structs.replace(event, retractions=event.retractions + 1)
        return self.events[-1].retractions

    def reopen(self) -> None:
        """Count that the current event, which had ended, breaks again."""
        event = self.events[-1]
        self.events[-1] = msgspec.structs.replace(event, reopened=event.reopened + 1)

    def end(self, at: int) -> EventMark:
        """End the current event at this time; one that has ended already keeps its end, and moves on by an update."""
        self.events[-1] = ended(self.events[-1], at)
        return self.events[-1]

    def move(self, **changes: bool | int | None) -> EventMark:
        """Move the current event on to its next update, with these changes of its mark."""
        event = self.events[-1]
        self.events[-1] = msgspec.structs.replace(event, sequence=event.sequence + 1, **changes)
        return self.events[-1]


def ended(event: EventMark, at: int) -> EventMark:
    """The next mark of an event that is over, and ended at this time unless it had ended before."""
    ended_at = at if event.active else event.ended_at
    return msgspec.structs.replace(event, sequence=event.sequence + 1, active=False, ended_at=ended_at)


class DetectState:
    """The counts and events of one edition."""

    def __init__(
        self, rule: DetectRule | None = None, weights: Weights | None = None, observer: DecisionObserver | None = None
    ) -> None:
        self.observer = observer
        self.rule = rule or DetectRule()
        self.emerging_rule = emerging_rule(self.rule)
        self.weights = weights or shipped()
        self.clusters: dict[str, CountedCluster] = {}
        self.lifetimes = Lifetimes(self.rule.look_back)
        self.volume = Volume()
        self.revised: set[str] = set()
        """the stories that were corrected or retracted"""
        self.position = -1
        self._ends: list[tuple[int, str]] = []
        """when each active event ends unless a story comes: a heap of (time, cluster), some out of date"""

    def knows(self, cluster_id: str, time: int, story_id: str) -> bool:
        """Whether a story of this time is counted in a cluster, or was until it was retracted."""
        of = self.clusters.get(cluster_id)
        return of is not None and (
            of.place_of(time, story_id) is not None or any(story.id == story_id for story in of.retracted)
        )

    def expect_end(self, of: CountedCluster) -> None:
        """Look at this cluster again when its window has emptied."""
        heappush(self._ends, (of.last + self.rule.window, of.id))

    def active(self) -> list[CountedCluster]:
        """The clusters whose event is active."""
        expected = (self.clusters.get(cluster_id) for cluster_id in {cluster_id for _, cluster_id in self._ends})
        return [of for of in expected if of is not None and of.event is not None and of.event.active]

    def ended(self) -> list[CountedCluster]:
        """The clusters whose event is active though its window has emptied; each is returned once."""
        now = self.lifetimes.stream_time
        if not self._ends or self._ends[0][0] >= now:
            return []
        found: dict[str, CountedCluster] = {}
        while self._ends and self._ends[0][0] < now:
            _, cluster_id = heappop(self._ends)
            of = self.clusters.get(cluster_id)
            if of is None or of.event is None or not of.event.active:
                continue
            if of.last + self.rule.window < now:
                found[cluster_id] = of
            else:  # stories have come since
                self.expect_end(of)
        return sorted(found.values(), key=lambda of: (of.last, of.id))


def advance(state: DetectState) -> Expired:
    """Let go of what died as stream time moved on; returns that."""
    lifetimes = state.lifetimes
    state.volume.forget(lifetimes.horizon)
    expired = Expired([], [], [], [])
    for cluster_id in lifetimes.expire():
        dead = state.clusters.pop(cluster_id)
        for absorbed_id in dead.absorbed:
            lifetimes.survivor.pop(absorbed_id, None)
        expired.clusters.append(cluster_id)
        story_ids = [story.id for story in chain(dead.stories, dead.retracted)]
        expired.rows.extend(story_ids)
        expired.amendments.extend(dead.amendments)
        expired.revised.extend(filter(state.revised.__contains__, story_ids))
        state.revised.difference_update(story_ids)
    return expired


def count(state: DetectState, assignment: Assignment, time: int) -> tuple[CountedCluster, WindowStory, list[EventMark]]:
    """Put a story of `time` into its cluster, and merge what it showed to be one.

    Returns the cluster, the story as it is kept, and the events that gave way, as they end.
    """
    story = keep(assignment, time)
    counted = state.clusters.get(assignment.cluster_id)
    if counted is None:
        counted = state.clusters[assignment.cluster_id] = CountedCluster(assignment.cluster_id)
    gave_way: list[EventMark] = []
    for absorbed_id in assignment.merged:
        gave_way += absorb(state, counted, absorbed_id)
    put(counted, story, retracted=assignment.story.retracted)
    state.volume.add(time, state.lifetimes.horizon)
    state.lifetimes.touch(counted.id)
    state.position = max(state.position, assignment.position)
    if assignment.merged and counted.event is not None and counted.event.active:
        state.expect_end(counted)  # it may have been expected of a cluster that is no more
    return counted, story, gave_way


def absorb(state: DetectState, counted: CountedCluster, absorbed_id: str) -> list[EventMark]:
    """Add what a cluster holds to another, if it is counted. Returns the events that gave way, as they end."""
    absorbed = state.clusters.pop(absorbed_id, None)
    if absorbed is None:
        return []
    state.lifetimes.merge(absorbed_id, counted.id)
    counted.absorbed += [*absorbed.absorbed, absorbed_id]
    counted.amendments += absorbed.amendments
    if len(counted.stories) < len(absorbed.stories):  # the few are put among the many
        counted.stories, absorbed.stories = absorbed.stories, counted.stories
        counted.publishers, absorbed.publishers = absorbed.publishers, counted.publishers
    for story in absorbed.stories:
        put(counted, story, retracted=False)
    counted.retracted += absorbed.retracted
    counted.emerged |= absorbed.emerged
    counted.bursts.clear()
    return _join_events(counted, absorbed, state.lifetimes.stream_time)


def revise(
    state: DetectState, assignment: Assignment, time: int
) -> tuple[CountedCluster, WindowStory, WindowStory | None]:
    """Correct or retract a counted story of `time`.

    Returns its cluster, the story as it is kept now, and as it was if it counted.
    """
    counted = state.clusters[assignment.cluster_id]
    story_id = assignment.story.id
    before = take(counted, time, story_id)
    old = before or take_retracted(counted, story_id)
    story = revised(old, assignment.story)
    put(counted, story, retracted=assignment.story.retracted)
    if (before is None) != assignment.story.retracted:
        counted.bursts.clear()  # it is in the windows, or not any more
    state.revised.add(story_id)
    state.position = assignment.position
    return counted, story, before


def take(counted: CountedCluster, time: int, story_id: str) -> WindowStory | None:
    """Take a story of this time out of those that count; None if it does not."""
    place = counted.place_of(time, story_id)
    if place is None:
        return None
    story = counted.stories.pop(place)
    times = counted.publishers[story.family]
    del times[bisect_left(times, time)]
    if not times:
        del counted.publishers[story.family]
    return story


def take_retracted(counted: CountedCluster, story_id: str) -> WindowStory:
    """Take out a story that is retracted."""
    (story,) = (story for story in counted.retracted if story.id == story_id)
    counted.retracted.remove(story)
    return story


def put(counted: CountedCluster, story: WindowStory, *, retracted: bool) -> None:
    """Put a story among those that count, or those that are retracted."""
    if retracted:
        counted.retracted.append(story)
        return
    insort(counted.stories, story)
    insort(counted.publishers.setdefault(story.family, []), story.time)


def _join_events(counted: CountedCluster, absorbed: CountedCluster, at: int) -> list[EventMark]:
    """The events of both clusters become those of one, at this stream time. Returns the one that gives way.

    The older of the current ones stays current, or the other if that was dismissed; a headline that was pinned stays.
    """
    current = sorted(
        (events[-1] for events in (counted.events, absorbed.events) if events),
        key=lambda event: (event.dismissed, event.started_at, event.event_id),
    )
    gave_way = [msgspec.structs.replace(ended(event, at), merged_into=current[0].event_id) for event in current[1:]]
    pinned = [event.headline for event in current if event.headline is not None]
    current[:1] = (
        [msgspec.structs.replace(event, headline=pinned[0]) for event in current[:1]] if pinned else current[:1]
    )
    over = counted.events[:-1] + absorbed.events[:-1] + gave_way
    counted.events = sorted(over, key=lambda event: (event.started_at, event.event_id)) + current[:1]
    return gave_way


def last_window(state: DetectState, counted: CountedCluster, event: EventMark | None = None) -> list[WindowStory]:
    """The stories of the window that ends with the cluster's last story, as far as they are the event's."""
    stories = counted.stories_of(event or counted.event)
    if not stories:
        return []  # all were retracted
    return stories[bisect_left(stories, counted.last - state.rule.window, key=TIME) :]
