"""Evidence: what an event update says, with the stories that show it."""

from bisect import bisect_left
from collections import Counter
from datetime import datetime
from itertools import chain
from typing import Literal, NamedTuple

from pipeline.records import EventMark, EventStory, EventUpdate, Rule
from pipeline.stages.detect.members import members_of, pack, scores
from pipeline.stages.detect.state import CountedCluster, DetectState
from pipeline.stages.detect.volume import burst_score
from pipeline.stages.detect.window_story import TIME, WindowStory
from pipeline.times import HOUR, SECOND, from_micros

MAX_EVIDENCE = 50
"""The most stories that an update carries."""


Phase = Literal["emerging", "started", "updated", "ended", "reopened"]
"""The states of an event."""


class Cause(NamedTuple):
    """What caused an update: a story, an amendment, or time alone."""

    edition: str
    position: int
    story_id: str | None
    received_at: datetime
    title: str | None = None
    amendment_id: str | None = None


def describe(
    state: DetectState,
    counted: CountedCluster,
    phase: Phase,
    window: list[WindowStory],
    cause: Cause,
    event: EventMark | None = None,
    merged_into: str | None = None,
) -> EventUpdate:
    """The update of a cluster's current event, or of another one of it, with the stories of `window` as evidence.

    `window` is by time, and empty if all stories were retracted; `cause` is what brought the update.
    """
    rule, mark = state.rule, event or counted.events[-1]
    stories = counted.stories_of(mark)
    evidence = _by_centrality(window)
    start, end = (window[0].time, window[-1].time) if window else (mark.window_start, mark.window_end)
    expected = _expected(state, counted, window) if window else 0.0
    return EventUpdate(
        event_id=mark.event_id,
        sequence=mark.sequence,
        state=phase,
        cluster_id=counted.id,
        edition=cause.edition,
        position=cause.position,
        at=from_micros(state.lifetimes.stream_time),
        rule=Rule(threshold=rule.threshold, window_seconds=rule.window // SECOND, min_publishers=rule.min_publishers),
        headline=mark.headline or (evidence[0].text.title if evidence else cause.title or ""),
        stories_in_window=len(window),
        publishers_in_window=len({story.family for story in window}),
        copies_in_window=sum(story.is_copy for story in window),
        stories_total=len(stories),
        # A story counts by how near it is to the centre of the window: what shares little with the others is no sign of growth.
        burst_score=round(burst_score(sum(scores(window)) / 100, expected), 1) if window else 0.0,
        expected_in_window=round(expected, 1),
        window_start=from_micros(start),
        window_end=from_micros(end),
        first_seen=from_micros(stories[0].time if stories else start),
        last_seen=from_micros(counted.last if counted.stories else end),
        caused_by=cause.story_id,
        caused_by_received_at=cause.received_at,
        stories=[_evidence_of(story) for story in _first_then_central(window, evidence)],
        merged_into=merged_into or mark.merged_into,
        started_at=from_micros(mark.started_at),
        publishers_total=len({story.family for story in stories}),
        reopened=mark.reopened,
        ended_at=None if mark.active or mark.ended_at is None else from_micros(mark.ended_at),
        dismissed=mark.dismissed,
        amendment_id=cause.amendment_id,
        members=pack(members_of(stories, (mark.window_start, mark.window_end), rule.window)),
    )


def _evidence_of(story: WindowStory) -> EventStory:
    text = story.text
    return EventStory(
        id=story.id, title=text.title, publisher=text.publisher, url=text.url, crawled_at=from_micros(story.time)
    )


def _expected(state: DetectState, counted: CountedCluster, window: list[WindowStory]) -> float:
    """How many stories the cluster could be expected to have in this window: the usual volume times its share so far."""
    start, end = window[0].time, window[-1].time
    reach = state.lifetimes.horizon // HOUR * HOUR + HOUR
    low, high = (bisect_left(counted.stories, time, key=TIME) for time in (reach, start // HOUR * HOUR))
    share = max(0, high - low) / max(1, state.volume.before(start))
    return share * state.volume.usual(end, state.rule.window)


def _by_centrality(window: list[WindowStory]) -> list[WindowStory]:
    """The stories, those first whose tokens the others share most: by the mean number of stories that hold a token."""
    tokens = [story.tokens for story in window]
    holding = Counter(chain.from_iterable(tokens))
    central = [-sum(map(holding.__getitem__, own)) / max(1, len(own)) for own in tokens]
    return [story for _, story in sorted(zip(central, window, strict=True))]


def _first_then_central(in_order: list[WindowStory], by_centrality: list[WindowStory]) -> list[WindowStory]:
    first = in_order[:1]
    return [*first, *(story for story in by_centrality if story not in first)][:MAX_EVIDENCE]
