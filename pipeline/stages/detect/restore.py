"""Restore: the state of the counting from the rows that were kept."""

from collections.abc import Iterable

from pipeline.records import AmendedDetection, Detection, StreamTime
from pipeline.stages.detect.amend import apply_amended
from pipeline.stages.detect.state import CountedCluster, DetectState, advance, count, revise
from pipeline.stages.lifetimes import replay_time
from pipeline.times import to_micros

Row = Detection | StreamTime | AmendedDetection


def restore(state: DetectState, rows: Iterable[Row]) -> None:
    """Build the state from the rows that were kept, which come in the order of their positions.

    Rows that should have been deleted already are deleted with the next story; until then they answer for theirs.
    """
    for row in rows:
        _take(state, row)
    for counted in state.clusters.values():
        _expect_end(state, counted)
    _end(state)


def follow(state: DetectState, rows: Iterable[Row]) -> None:
    """Take in the rows that the owner of a state writes, as they come: this state stays equal to the owner's.

    What ends and what dies does so where it does at the owner, who writes the updates and deletes the rows.
    """
    for row in rows:
        if isinstance(row, Detection) and not row.assignment.revision:
            replay_time(state.lifetimes, row.assignment)
            _end(state)
            advance(state)
        touched = _take(state, row)
        for cluster_id in touched:
            _expect_end(state, state.clusters[cluster_id])
        _end(state)
        if isinstance(row, StreamTime):
            advance(state)


def _take(state: DetectState, row: Row) -> Iterable[str]:
    """Take in one row; returns the clusters whose events it says."""
    if isinstance(row, StreamTime):
        replay_time(state.lifetimes, row)
        state.position = row.position
        state.volume.forget(state.lifetimes.horizon)
        return ()
    if isinstance(row, AmendedDetection):
        replay_time(state.lifetimes, row.amended)
        apply_amended(state, row.amended)
        for cluster_id, marks in row.marks.items():
            state.clusters[cluster_id].events = list(marks)
            state.clusters[cluster_id].emerged = cluster_id in row.emerged
        return row.marks
    replay_time(state.lifetimes, row.assignment)
    time = to_micros(row.assignment.story.crawled_at)
    taken_in = revise if row.assignment.revision else count
    counted = taken_in(state, row.assignment, time)[0]
    counted.events = list(row.marks)
    counted.emerged = row.emerged
    return (counted.id,)


def _expect_end(state: DetectState, counted: CountedCluster) -> None:
    if counted.event is not None and counted.event.active:
        state.expect_end(counted)


def _end(state: DetectState) -> None:
    """End the events that are over: said by the story that moved stream time there, none leaves this undone."""
    for counted in state.ended():
        counted.end(counted.last + state.rule.window)
