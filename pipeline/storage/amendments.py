"""Amendments: what a correction by hand names, looked up; and what became of those that were asked for."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import uuid4

from pipeline.codec import decode, encode
from pipeline.records import Amendment
from pipeline.stages.amend import check
from pipeline.storage.read import Reader, Row

_COLUMNS = """a.id, a.edition, a.action, a.amended_by, a.amended_at, a.reason, a.refused, a.event_id, a.headline, a.cluster_id,
a.clusters, a.stories"""


class CannotAmend(ValueError):
    """What is to be amended is not there, or is so already; the message says what."""


def of_stories(
    reader: Reader,
    stories: Sequence[str],
    by: str,
    *,
    to: str | None = None,
    edition: str | None = None,
    reason: str | None = None,
) -> Amendment:
    """Move stories, by id or URL, to the cluster `to` (or that of an event), or split them off.

    An id names a story within its edition: that of `to`, or the one that is named. Raises CannotAmend, and InvalidRecord for
    what no amendment can say.
    """
    target = None if to is None else _cluster(reader, to)
    if target is not None:
        if edition not in {None, target["edition"]}:
            raise CannotAmend(f"{to!r} is of edition {target['edition']}, not {edition}.")
        edition = target["edition"]
    found = reader.rows(
        "SELECT id, url, edition FROM news.stories WHERE (id = ANY(:names) OR url = ANY(:names)) "
        "AND news.is_of(edition, CAST(:edition AS text)) ORDER BY received_at",
        names=_texts(stories),
        edition=None if target is not None else edition,
    )
    if target is not None:
        found = _of_edition(found, stories, target["edition"])
    by_name = {name: row for row in found for name in (row["id"], row["url"])}  # the latest of each name
    _all_known(stories, by_name, edition)
    editions = sorted({row["edition"] for row in found})
    if len(editions) > 1:
        raise CannotAmend(
            f"Stories of these names are in several editions, {', '.join(editions)}: say in which, by --edition."
        )
    return _asked(
        editions[0],
        "split" if target is None else "move",
        by,
        reason,
        stories=list(dict.fromkeys(by_name[name]["id"] for name in stories)),
        clusters=[] if target is None else [target["id"]],
    )


def _of_edition(found: Sequence[Row], names: Sequence[str], edition: str) -> list[Row]:
    """Those stories of an edition. Raises CannotAmend if one of these names is of other editions only."""
    for name in names:
        editions = {row["edition"] for row in found if name in (row["id"], row["url"])}
        if editions and edition not in editions:
            raise CannotAmend(
                f"{name!r} is of edition {min(editions)}: it cannot be moved to a cluster of edition {edition}."
            )
    return [row for row in found if row["edition"] == edition]


def of_clusters(reader: Reader, names: Sequence[str], by: str, *, reason: str | None = None) -> Amendment:
    """Merge clusters, each named by itself or by an event of it. Raises as `of_stories` does."""
    clusters = [_cluster(reader, name) for name in dict.fromkeys(names)]
    if len({cluster["id"] for cluster in clusters}) == 1:
        raise CannotAmend(f"These are one cluster already: {clusters[0]['id']!r}.")
    editions = sorted({cluster["edition"] for cluster in clusters})
    if len(editions) > 1:
        raise CannotAmend(f"These are of several editions, {', '.join(editions)}: clusters of one can be merged.")
    return _asked(editions[0], "merge", by, reason, clusters=list(dict.fromkeys(cluster["id"] for cluster in clusters)))


def of_event(
    reader: Reader, action: str, event_id: str, by: str, *, headline: str | None = None, reason: str | None = None
) -> Amendment:
    """Dismiss, reinstate or pin an event. Raises as `of_stories` does."""
    found = _event(reader, event_id)
    if found is None:
        hint = " That is a cluster: an event's id begins with e." if event_id.startswith("c") else ""
        raise CannotAmend(f"There is no event {event_id!r}.{hint}")
    if found["merged_into"] is not None:
        raise CannotAmend(f"Event {event_id!r} went on in {found['merged_into']!r}: amend that.")
    if action in {"dismiss", "reinstate"} and found["dismissed"] == (action == "dismiss"):
        raise CannotAmend(
            f"Event {event_id!r} {'is dismissed already' if action == 'dismiss' else 'was not dismissed'}."
        )
    fields = {"clusters": [found["cluster_id"]], "event_id": event_id, "headline": headline}
    return _asked(found["edition"], action, by, reason, **fields)


def _asked(edition: str, action: str, by: str, reason: str | None, **fields: Any) -> Amendment:
    given = {"id": uuid4().hex, "edition": edition, "action": action, "by": by, "reason": reason or None, **fields}
    _texts([text for text in (by, reason, fields.get("headline")) if text is not None])
    amendment = decode(encode(Amendment(**given)), Amendment)  # which sees to lengths
    check(amendment)
    return amendment


def _texts(names: Sequence[str]) -> list[str]:
    """These, if they are text at all. Raises CannotAmend."""
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise CannotAmend(f"{name!a} is no text in UTF-8.") from None
    return list(names)


def _event(reader: Reader, event_id: str) -> Row | None:
    statement = """
        SELECT e.id, e.edition, e.cluster_id, e.dismissed, e.merged_into FROM news.events e WHERE e.id = :event AND e.sequence > 0
    """
    return next(iter(reader.rows(statement, event=_texts([event_id])[0])), None)


def _cluster(reader: Reader, name: str) -> Row:
    """The cluster of this name, or that of the event of this name; the one that it was merged into, if it was."""
    found = reader.rows(
        "SELECT c.id, c.edition FROM news.clusters c WHERE c.id = news.surviving_cluster(coalesce("
        "(SELECT e.cluster_id FROM news.events e WHERE e.id = :name AND e.sequence > 0), :name))",
        name=_texts([name])[0],
    )
    if not found:
        raise CannotAmend(f"There is no cluster or event {name!r}.")
    return found[0]


def _all_known(names: Sequence[str], known: Collection[str], edition: str | None) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise CannotAmend(f"There is no story {unknown[0]!r}{'' if edition is None else f' in edition {edition}'}.")


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
    newest = "ORDER BY a.amended_at DESC, a.position DESC, a.id LIMIT :limit"
    statement = f"SELECT {_COLUMNS} FROM news.amendments a {chosen} {newest}"  # noqa: S608 - our own names
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
        SELECT DISTINCT ON (s.id, s.edition) s.id AS story_id, t.id AS event
        FROM touched t CROSS JOIN LATERAL news.cluster_family(t.id) part
        JOIN news.stories s ON s.cluster_id = part
        WHERE NOT s.retracted
        ORDER BY s.id, s.edition, s.received_at DESC
        """
    )
