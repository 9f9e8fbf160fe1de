"""Amend: what corrections by hand do to counts and events.

Of each cluster that stories left or came to, the current event is updated, so that it shows what it has. A cluster may break by
what came to it. An event that is dismissed is over and stays so; its cluster can only break about another.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from pipeline.codec import InvalidRecord
from pipeline.records import Amended, AmendedDetection, EventMark, EventUpdate
from pipeline.stages.detect.events import end_events, update, updates_of
from pipeline.stages.detect.evidence import Cause, describe
from pipeline.stages.detect.state import (
    CountedCluster,
    DetectState,
    absorb,
    ended,
    last_window,
    put,
    take,
    take_retracted,
)
from pipeline.stages.detect.window_story import WindowStory
from pipeline.times import to_micros


class Outcome(NamedTuple):
    """What an amendment brought."""

    row: AmendedDetection
    updates: list[EventUpdate]


class Changed(NamedTuple):
    """What an amendment of the clustering changed here."""

    touched: list[CountedCluster]
    """first the cluster that holds the stories now"""
    came: list[WindowStory]
    """the stories that came to that, as far as they count, by time"""
    gave_way: list[EventMark]
    """events that gave way to its own, as they end"""


def amend_events(state: DetectState, amended: Amended) -> Outcome | None:
    """Amend counts and events. None if it came before, or was refused.

    Raises InvalidRecord for an amendment of an event or of stories that are not here.
    """
    if amended.position <= state.position or amended.refused is not None:
        return None
    _check(state, amended)
    amendment = amended.amendment
    assert amendment.at is not None  # see `check_amended`
    cause = Cause(amendment.edition, amended.position, None, amendment.at, None, amendment.id)
    changed = apply_amended(state, amended)
    if amendment.event_id is not None:
        updates = _amend_event(state, changed.touched[0], amended, cause)
    else:
        updates = _updates(state, changed, cause)
    updates += end_events(state, cause)
    marks = {counted.id: list(counted.events) for counted in changed.touched}
    emerged = [counted.id for counted in changed.touched if counted.emerged]
    return Outcome(AmendedDetection(amended=amended, marks=marks, emerged=emerged), updates)


def _check(state: DetectState, amended: Amended) -> None:
    amendment = amended.amendment
    unknown = [
        story.id for story in amended.moved if not state.knows(story.cluster_id, to_micros(story.crawled_at), story.id)
    ]
    if unknown:
        raise InvalidRecord(f"Wrong Amended: moved: story {unknown[0]!r} was never counted where it is moved from.")
    known = state.clusters.get(amended.cluster_id or "")
    if known is None and not (amendment.action == "split" and amended.moved):
        raise InvalidRecord(f"Wrong Amended: cluster_id: nothing is counted in cluster {amended.cluster_id!r}.")
    if amendment.event_id is not None and not any(
        mark.event_id == amendment.event_id for mark in (known.events if known else ())
    ):
        raise InvalidRecord(
            f"Wrong Amendment: event_id: cluster {amended.cluster_id!r} has no event {amendment.event_id!r}."
        )


def apply_amended(state: DetectState, amended: Amended) -> Changed:
    """Take in what an amendment changed in the clustering, without what it brings."""
    cluster_id = amended.cluster_id or ""
    target = state.clusters.setdefault(cluster_id, CountedCluster(cluster_id))
    came, gave_way = list[WindowStory](), list[EventMark]()
    sources = {story.cluster_id: state.clusters[story.cluster_id] for story in amended.moved}
    for moved in amended.moved:
        source = sources[moved.cluster_id]
        story = take(source, to_micros(moved.crawled_at), moved.id)
        put(target, story or take_retracted(source, moved.id), retracted=story is None)
        came += [] if story is None else [story]
    for absorbed_id in amended.merged:
        came += state.clusters[absorbed_id].stories if absorbed_id in state.clusters else []
        gave_way += absorb(state, target, absorbed_id)
    touched = [target, *(sources[cluster_id] for cluster_id in sorted(sources))]
    if amended.moved or amended.merged:
        for counted in touched:
            counted.bursts.clear()
        state.lifetimes.bind(counted.id for counted in touched)
    target.amendments.append(amended.amendment.id)
    state.position = amended.position
    return Changed(touched, sorted(came), gave_way)


def _updates(state: DetectState, changed: Changed, cause: Cause) -> list[EventUpdate]:
    """What it brings that stories moved."""
    target = changed.touched[0]
    updates = [
        describe(state, target, "ended", last_window(state, target, mark), cause, mark, target.events[-1].event_id)
        for mark in changed.gave_way
    ]
    for counted in changed.touched:
        brought = _brought(state, counted, changed.came, cause) if counted is target else []
        updates += brought or _restated(state, counted, cause)
    return updates


def _brought(
    state: DetectState, counted: CountedCluster, came: Sequence[WindowStory], cause: Cause
) -> list[EventUpdate]:
    """What the last of the stories that came brings that brings anything."""
    return next(filter(None, (updates_of(state, counted, cause, story) for story in reversed(came))), [])


def _restated(state: DetectState, counted: CountedCluster, cause: Cause) -> list[EventUpdate]:
    """The next update of a cluster's current event, if it has one, as its stories are others now."""
    event = counted.event
    if event is None:
        return []
    window = last_window(state, counted)
    if event.active and window:
        return [update(state, counted, window, cause)]
    counted.end(state.lifetimes.stream_time)
    return [describe(state, counted, "ended", window, cause)]


def _amend_event(state: DetectState, counted: CountedCluster, amended: Amended, cause: Cause) -> list[EventUpdate]:
    """What it brings that an event is dismissed, reinstated, or has another headline."""
    amendment = amended.amendment
    place = next(place for place, mark in enumerate(counted.events) if mark.event_id == amendment.event_id)
    mark = counted.events[place]
    replaced = msgspec.structs.replace(mark, headline=amendment.headline) if amendment.action == "pin" else mark
    if amendment.action == "dismiss":
        over = ended(mark, state.lifetimes.stream_time)
        replaced = msgspec.structs.replace(over, dismissed=True, sequence=mark.sequence)
    elif amendment.action == "reinstate" and mark.dismissed:
        lives = mark is counted.events[-1] and bool(counted.stories_of(mark))
        active = lives and counted.last + state.rule.window >= state.lifetimes.stream_time
        ended_at = None if active else mark.ended_at
        reopened = mark.reopened + active
        replaced = msgspec.structs.replace(mark, dismissed=False, active=active, ended_at=ended_at, reopened=reopened)
    if replaced == mark:
        return []
    reported = counted.count_of(mark)
    counted.events[place] = mark = msgspec.structs.replace(replaced, sequence=mark.sequence + 1, reported=reported)
    window = last_window(state, counted, mark)
    if not mark.active:
        return [describe(state, counted, "ended", window, cause, mark)]
    state.expect_end(counted)
    return [describe(state, counted, "reopened" if amendment.action == "reinstate" else "updated", window, cause, mark)]
