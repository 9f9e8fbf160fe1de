"""Amendments: what a correction by hand names, looked up; and what became of those that were asked for."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from pipeline.codec import decode, encode
from pipeline.records import Amendment
from pipeline.storage.read import Reader, Row

_COLUMNS = """a.id, a.edition, a.action, a.amended_by, a.amended_at, a.reason, a.refused, a.event_id, a.headline, a.cluster_id,
a.clusters, a.stories"""


class CannotAmend(ValueError):
    """What is to be amended is not there, or is so already; the message says what."""


def of_stories(
    reader: Reader, stories: Sequence[str], by: str, *, to: str | None = None, reason: str | None = None
) -> Amendment:
    """Move stories, by id or URL, to the cluster `to` (or that of an event), or split them off.

    Raises CannotAmend, and InvalidRecord for what no amendment can say.
    """
    found = reader.rows(
        "SELECT id, url, edition FROM news.stories WHERE id = ANY(:names) OR url = ANY(:names) ORDER BY crawled_at",
        names=list(stories),
    )
    by_name = {name: row for row in found for name in (row["id"], row["url"])}
    _all_known("story", stories, by_name)
    rows = [by_name[name] for name in dict.fromkeys(stories)]
    editions = {row["edition"] for row in rows}
    clusters = [] if to is None else [_cluster(reader, to)]
    editions |= {cluster["edition"] for cluster in clusters}
    return _asked(
        editions,
        "split" if to is None else "move",
        by,
        reason,
        stories=list(dict.fromkeys(row["id"] for row in rows)),
        clusters=[cluster["id"] for cluster in clusters],
    )


def of_clusters(reader: Reader, names: Sequence[str], by: str, *, reason: str | None = None) -> Amendment:
    """Merge clusters, each named by itself or by an event of it. Raises as `of_stories` does."""
    clusters = [_cluster(reader, name) for name in dict.fromkeys(names)]
    if len({cluster["id"] for cluster in clusters}) == 1:
        raise CannotAmend(f"These are one cluster already: {clusters[0]['id']!r}.")
    return _asked(
        {cluster["edition"] for cluster in clusters},
        "merge",
        by,
        reason,
        clusters=list(dict.fromkeys(cluster["id"] for cluster in clusters)),
    )


def of_event(
    reader: Reader, action: str, event_id: str, by: str, *, headline: str | None = None, reason: str | None = None
) -> Amendment:
    """Dismiss, reinstate or pin an event. Raises as `of_stories` does."""
    found = _event(reader, event_id)
    if found is None:
        raise CannotAmend(f"There is no event {event_id!r}.")
    fields = {"clusters": [found["cluster_id"]], "event_id": event_id, "headline": headline}
    return _asked({found["edition"]}, action, by, reason, **fields)


def _asked(editions: set[str], action: str, by: str, reason: str | None, **fields: Any) -> Amendment:
    if len(editions) > 1:
        raise CannotAmend(f"These are of several editions, {', '.join(sorted(editions))}: an amendment is of one.")
    (edition,) = editions
    amendment = {"id": uuid4().hex, "edition": edition, "action": action, "by": by, "reason": reason or None, **fields}
    made = Amendment(**amendment)
    return decode(encode(made), Amendment)  # which sees to lengths


def _event(reader: Reader, event_id: str) -> Row | None:
    statement = "SELECT id, edition, cluster_id FROM news.events WHERE id = :event AND sequence > 0"
    return next(iter(reader.rows(statement, event=event_id)), None)


def _cluster(reader: Reader, name: str) -> Row:
    """The cluster of this name, or that of the event of this name."""
    found = reader.rows("SELECT id, edition FROM news.clusters WHERE id = :name", name=name)
    if not found and (event := _event(reader, name)):
        found = [{"id": event["cluster_id"], "edition": event["edition"]}]
    if not found:
        raise CannotAmend(f"There is no cluster or event {name!r}.")
    return found[0]


def _all_known(kind: str, names: Sequence[str], known: dict[str, Any]) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise CannotAmend(f"There is no {kind} {unknown[0]!r}.")


def outcome(reader: Reader, amendment_id: str) -> Row | None:
    """What became of an amendment; None while it is on its way."""
    rows = reader.rows(f"SELECT {_COLUMNS} FROM news.amendments a WHERE a.id = :id", id=amendment_id)  # noqa: S608 - our own names
    return next(iter(rows), None)


def amendments(reader: Reader, *, event_id: str | None = None, limit: int = 100) -> list[Row]:
    """Amendments, the latest first; those that touched an event or its cluster, if one is named."""
    of_event = """
        WHERE a.event_id = :event OR EXISTS (
            SELECT FROM news.events e CROSS JOIN LATERAL news.cluster_family(e.cluster_id) part
            WHERE e.id = :event AND (part = a.cluster_id OR part = ANY(a.clusters)) AND a.event_id IS NULL)"""
    chosen = of_event if event_id is not None else ""
    statement = f"SELECT {_COLUMNS} FROM news.amendments a {chosen} ORDER BY a.amended_at DESC, a.id LIMIT :limit"  # noqa: S608 - our own names
    return reader.rows(statement, event=event_id, limit=limit)


def labels(reader: Reader) -> list[Row]:
    """The stories of all clusters that were amended, each with the cluster it is in now as its label."""
    return reader.rows(
        """
        WITH touched AS (
            SELECT DISTINCT news.surviving_cluster(part) AS id
            FROM news.amendments a CROSS JOIN LATERAL unnest(a.clusters || a.cluster_id) part
            WHERE a.refused IS NULL AND a.action IN ('move', 'split', 'merge')
        )
        SELECT DISTINCT ON (s.id) s.id AS story_id, t.id AS event
        FROM touched t CROSS JOIN LATERAL news.cluster_family(t.id) part
        JOIN news.stories s ON s.cluster_id = part
        WHERE NOT s.retracted
        ORDER BY s.id, s.received_at DESC
        """
    )
