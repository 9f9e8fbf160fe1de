"""Evidence: what an event update says, with the stories that show it."""

from bisect import bisect_left
from collections import Counter
from itertools import chain
from typing import Literal

from pipeline.records import Assignment, EventMark, EventStory, EventUpdate, Rule
from pipeline.stages.counting import Counted, Edition
from pipeline.stages.volume import burst_score
from pipeline.times import HOUR, SECOND, from_micros

EVIDENCE = 50
"""The most stories that an update carries."""


def describe(
    edition: Edition,
    counted: Counted,
    state: Literal["started", "updated", "ended"],
    window: list[tuple[int, str]],
    cause: Assignment,
    gave_way: EventMark | None = None,
) -> EventUpdate:
    """The update of a cluster's current event, or of one that gave way to it, with the stories of `window` as evidence.

    `window` holds (time, id), by time; `cause` is the story that brought the update.
    """
    rule, current = edition.rule, counted.events[-1]
    mark = gave_way or current
    stories = counted.stories_of(mark)
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
        publishers_in_window=len({row.story.family for row in in_window}),
        copies_in_window=sum(row.duplicate_of is not None for row in in_window),
        stories_total=len(stories),
        burst_score=round(_burst(edition, counted, window), 1),
        window_start=from_micros(window[0][0]),
        window_end=from_micros(window[-1][0]),
        first_seen=from_micros(stories[0][0]),
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
        merged_into=current.event_id if gave_way else None,
    )


def _burst(edition: Edition, counted: Counted, window: list[tuple[int, str]]) -> float:
    """How unusual the window is: its stories against the edition's usual volume times the cluster's share so far."""
    start, end = window[0][0], window[-1][0]
    reach = edition.lifetimes.horizon // HOUR * HOUR + HOUR
    low, high = (bisect_left(counted.stories, (time, "")) for time in (reach, start // HOUR * HOUR))
    share = max(0, high - low) / max(1, edition.volume.before(start))
    return burst_score(len(window), share * edition.volume.usual(end, edition.rule.window))


def _by_centrality(rows: list[Assignment]) -> list[Assignment]:
    """The stories, those first whose tokens the others share most: by the mean number of stories that hold a token."""
    holding = Counter(chain.from_iterable(row.weights for row in rows))
    return sorted(
        rows,
        key=lambda row: (
            -sum(map(holding.__getitem__, row.weights)) / max(1, len(row.weights)),
            row.story.crawled_at,
            row.story.id,
        ),
    )


def _first_then_central(in_order: list[Assignment], by_centrality: list[Assignment]) -> list[Assignment]:
    first = in_order[0]
    return [first, *(row for row in by_centrality if row is not first)][:EVIDENCE]
