"""Restore: the state of the counting from the rows that were kept."""

from collections.abc import Iterable

from pipeline.records import AmendedDetection, Detection, StreamTime
from pipeline.stages.detect.amend import apply_amended
from pipeline.stages.detect.state import DetectState, count, revise
from pipeline.stages.lifetimes import replay_time
from pipeline.times import to_micros


def restore(state: DetectState, rows: Iterable[Detection | StreamTime | AmendedDetection]) -> None:
    """Build the state from the rows that were kept, which come in the order of their positions.

    Rows that should have been deleted already are deleted with the next story; until then they answer for theirs.
    """
    for row in rows:
        if isinstance(row, StreamTime):
            replay_time(state.lifetimes, row)
            state.position = row.position
            state.volume.forget(state.lifetimes.horizon)
            continue
        if isinstance(row, AmendedDetection):
            replay_time(state.lifetimes, row.amended)
            apply_amended(state, row.amended)
            for cluster_id, marks in row.marks.items():
                state.clusters[cluster_id].events = list(marks)
                state.clusters[cluster_id].emerged = cluster_id in row.emerged
            continue
        replay_time(state.lifetimes, row.assignment)
        time = to_micros(row.assignment.story.crawled_at)
        taken_in = revise if row.assignment.revision else count
        counted = taken_in(state, row.assignment, time)[0]
        counted.events = list(row.marks)
        counted.emerged = row.emerged
    for counted in state.clusters.values():
        if counted.event is not None and counted.event.active:
            state.expect_end(counted)
    for counted in state.ended():  # said by the story that moved stream time there: none leaves this undone
        counted.end(counted.last + state.rule.window)
