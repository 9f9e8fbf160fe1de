"""Evidence: what an event update says, with the stories that show it."""

from collections import Counter
from typing import Literal

from pipeline.records import Assignment, EventMark, EventStory, EventUpdate, Rule
from pipeline.stages.counting import Counted, Edition
from pipeline.times import SECOND, from_micros

EVIDENCE = 50
"""The most stories that an update carries."""


def describe(
    edition: Edition,
    counted: Counted,
    state: Literal["started", "updated", "ended"],
    mark: EventMark,
    window: list[tuple[int, str]],
    cause: Assignment,
    merged_into: str | None = None,
) -> EventUpdate:
    """The update of a cluster's event to `mark`, with the stories of `window` (time, id) as evidence; `cause` brought it."""
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
