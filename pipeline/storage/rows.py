"""Rows: what each record is in the tables of `news`."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import msgspec

from pipeline.languages.publishers import country_of
from pipeline.records import Amended, Assignment, Cluster, EventUpdate
from pipeline.similarity import simhash
from pipeline.stages.detect.members import unpack
from pipeline.times import from_micros

Row = dict[str, Any]
MOST_MEMBERS = 100_000
"""More stories than a cluster takes in; an update with more is forged."""
LONGEST_EDITION = 64


def cluster_row(record: Cluster) -> Row:
    """A cluster's row."""
    return {
        "id": record.id,
        "edition": record.edition,
        "position": record.position,
        "stories": record.stories,
        "publishers": record.publishers,
        "headline": record.headline,
        "first_seen": record.first_seen,
        "last_seen": record.last_seen,
        "merged_into": record.merged_into,
    }


def mentioned_cluster_row(cluster_id: str, edition: str) -> Row:
    """The row of a cluster of which nothing is known yet but that another row refers to it."""
    return cluster_row(Cluster(id=cluster_id, edition=edition, position=-1, stories=0, publishers=0))


def story_row(record: Assignment) -> Row:
    """The row of a story, or of its revision."""
    story = record.story
    return {
        "edition": story.edition,
        "position": record.position if record.revises is None else record.revises,
        "crawled_at": story.crawled_at,
        "id": story.id,
        "url": story.url,
        "title": story.title,
        "publisher": story.publisher,
        "family": story.family,
        "language": story.language,
        "received_at": story.received_at,
        "published_at": story.published_at,
        "simhash": simhash.signed(simhash.from_hex(record.simhash)),
        "late": record.late,
        "retracted": story.retracted,
        "revision": record.position,
        "cluster_id": record.cluster_id,
        "duplicate_of": record.duplicate_of,
        "similar_ids": [similar.story_id for similar in record.similar] or None,
        "similar_scores": [similar.score for similar in record.similar] or None,
        "extra": story.extra or None,
    }


def amendment_row(record: Amended) -> Row:
    """The row of an amendment."""
    asked = record.amendment
    return {
        "id": asked.id,
        "edition": asked.edition,
        "position": record.position,
        "action": asked.action,
        "amended_by": asked.by,
        "amended_at": asked.at,
        "reason": asked.reason,
        "refused": record.refused,
        "event_id": asked.event_id,
        "headline": asked.headline,
        "cluster_id": record.cluster_id,
        "clusters": sorted({story.cluster_id for story in record.moved} | {*record.merged} or {*asked.clusters}),
        "stories": [story.id for story in record.moved] or asked.stories,
    }


def moved_story_rows(record: Amended) -> Iterable[Row]:
    """The stories that an amendment put into another cluster, as they are then."""
    for story in record.moved:
        yield {
            "edition": record.amendment.edition,
            "position": story.position,
            "crawled_at": story.crawled_at,
            "cluster_id": record.cluster_id,
            "amended": record.position,
        }


def publisher_row(record: Assignment) -> Row:
    """The row of a story's publisher, as far as this story tells."""
    story = record.story
    return {
        "edition": story.edition,
        "family": story.family,
        "first_story_at": story.crawled_at,
        "last_story_at": story.crawled_at,
        "country": country_of(urlsplit(story.url).hostname or ""),
    }


def event_row(record: EventUpdate) -> Row:
    """An event's row after an update."""
    return {
        "id": record.event_id,
        "cluster_id": record.cluster_id,
        "edition": record.edition,
        "sequence": record.sequence,
        "state": record.state,
        "headline": record.headline,
        "started_at": record.at if record.sequence == 1 else record.started_at if record.sequence else None,
        "ended_at": _end(record) if record.state == "ended" else None,
        "updated_at": record.at,
        "first_seen": record.first_seen,
        "last_seen": record.last_seen,
        "stories_in_window": record.stories_in_window,
        "publishers_in_window": record.publishers_in_window,
        "copies_in_window": record.copies_in_window,
        "stories_total": record.stories_total,
        "publishers_total": record.publishers_total,
        "burst_score": record.burst_score,
        "reopened": record.reopened,
        "merged_into": record.merged_into,
        "dismissed": record.dismissed,
    }


def _end(record: EventUpdate) -> datetime:
    """When an event ended; updates of versions before do not say it."""
    return record.ended_at or min(record.at, record.last_seen + timedelta(seconds=record.rule.window_seconds))


def mentioned_event_row(record: EventUpdate) -> Row:
    """The row of the event that an ending one was merged into, while nothing else of it has come."""
    return event_row(record) | {
        "id": record.merged_into,
        "sequence": 0,
        "state": "started",
        "started_at": None,
        "ended_at": None,
        "stories_total": 0,
        "publishers_total": None,
        "merged_into": None,
        "dismissed": False,
    }


def event_story_rows(record: EventUpdate) -> Iterable[Row]:
    """The rows of an event's stories, as of an update that has them.

    Raises msgspec.DecodeError and ValueError for what the detect stage never writes.
    """
    members = list(unpack(record.members or b""))
    if len(members) != record.stories_total or len(members) > MOST_MEMBERS:
        raise ValueError(
            f"members: there are {len(members)}, which should be stories_total={record.stories_total}, {MOST_MEMBERS} at most"
        )
    for member in members:
        yield {
            "event_id": record.event_id,
            "edition": record.edition,
            "position": member.position,
            "crawled_at": from_micros(member.time),
            "sequence": record.sequence,
            "score": member.score,
            "is_stray": member.is_stray,
        }


def check_edition(edition: str) -> None:
    """Raises ValueError for what is no edition: it stands in every row."""
    if len(edition) > LONGEST_EDITION:
        raise ValueError(f"edition: it has {len(edition)} characters, {LONGEST_EDITION} at most")


def update_row(record: EventUpdate) -> Row:
    """An update's row."""
    return {
        "event_id": record.event_id,
        "sequence": record.sequence,
        "state": record.state,
        "at": record.at,
        "position": record.position,
        "stories_in_window": record.stories_in_window,
        "stories_total": record.stories_total,
        "record": msgspec.structs.replace(record, members=None),
    }
