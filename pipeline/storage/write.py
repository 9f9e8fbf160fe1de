"""Idempotent writes: whatever comes twice or out of date changes nothing.

Every upsert is guarded: a cluster by its position, an event by its sequence. So the state of Postgres is a function of the set
of records written, whatever their order and however often each came.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from operator import itemgetter
from typing import Any

import msgspec
import sqlalchemy as sa
import stamina
import structlog
from sqlalchemy.dialects.postgresql import Insert, insert

from pipeline.records import Assignment, Cluster, EventUpdate, Record
from pipeline.similarity import simhash
from pipeline.storage import schema
from pipeline.storage.engine import create_engine, explained
from pipeline.storage.links import alerts_of, write_links

log = structlog.get_logger()

Row = dict[str, Any]

REFUSALS = frozenset(["21", "22", "23", "54"])
"""Classes of SQLSTATE that are about the data: what it is, what it refers to, and how large it is.
https://www.postgresql.org/docs/current/errcodes-appendix.html"""
OUTAGES = frozenset(["08", "25", "40", "53", "55", "57", "58", "F0", "XX"])
"""Those that are about the server and what it is at: the data may be taken later."""
_NUL = re.compile(r"((?<!\\)(?:\\\\)*)\\u0000")
"""In JSON the one character that Postgres cannot hold."""


class Writer:
    """Writes batches of records to one database."""

    def __init__(self, uri: str) -> None:
        self.engine = create_engine(uri)

    def write(self, records: Sequence[Record]) -> None:
        """Write assignments, clusters, event updates and the links of alerts in one transaction.

        Waits and tries again while the database is away or another writer is in the way. Raises Refused for data that Postgres
        does not take, and DatabaseError for what else a retry cannot fix.
        """
        if not records:
            return
        statements = list(_statements(records))
        alerts = alerts_of(record for record in records if isinstance(record, EventUpdate))
        with explained(self.engine):
            for attempt in stamina.retry_context(on=_may_pass, attempts=None, timeout=None, wait_max=5.0):
                with attempt, _refusals(), self.engine.begin() as connection:
                    for statement, parameters in statements:
                        connection.execute(statement, parameters)
                    if alerts:
                        write_links(connection, alerts)

    def write_acceptable(self, records: Sequence[Record]) -> list[tuple[int, str]]:
        """Write those that Postgres accepts, as `write` does; returns index and reason of each that it refuses for its data."""
        try:
            self.write(records)
        except Refused as error:
            if len(records) == 1:
                return [(0, f"Postgres refuses it: {error}")]
            half = len(records) // 2
            later = self.write_acceptable(records[half:])
            return [*self.write_acceptable(records[:half]), *((half + index, reason) for index, reason in later)]
        return []

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()


class Refused(ValueError):
    """Data that Postgres does not take; the message is Postgres' own."""


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except sa.exc.DBAPIError as error:
        if _class(error) in REFUSALS:
            raise Refused(str(error.orig).splitlines()[0]) from None
        raise


def _class(error: sa.exc.DBAPIError) -> str:
    """The class of SQLSTATE; empty where the connection was lost before the server could say."""
    return (getattr(error.orig, "sqlstate", None) or "")[:2]


def _may_pass(error: Exception) -> bool:
    """Whether it may work later: the connection failed, a deadlock chose us, or the server stands by for another."""
    passing = isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError) or (
        isinstance(error, sa.exc.DBAPIError) and _class(error) in OUTAGES
    )
    if passing:
        log.warning("Postgres did not take a batch; trying again", error=str(error).splitlines()[0])
    return passing


def _statements(records: Sequence[Record]) -> Iterable[tuple[Insert, dict[str, str]]]:
    """The statements for a batch with their parameters, in the order that foreign keys ask for."""
    assignments = [record for record in records if isinstance(record, Assignment)]
    clusters = [record for record in records if isinstance(record, Cluster)]
    updates = [record for record in records if isinstance(record, EventUpdate)]
    mentioned = {row.cluster_id: row.story.edition for row in assignments}
    mentioned |= {update.cluster_id: update.edition for update in updates}
    stubs = [
        _cluster(Cluster(id=cluster_id, edition=edition, position=-1, stories=0, publishers=0))
        for cluster_id, edition in mentioned.items()
    ]
    batches: list[tuple[sa.Table, str | None, list[Row]]] = [
        (schema.clusters, "position", [*stubs, *map(_cluster, clusters)]),
        (schema.stories, "position", [_story(row) for row in assignments]),
        (schema.cluster_stories, "position", [_membership(row) for row in assignments if not row.revision]),
        (schema.story_links, None, [link for row in assignments for link in _links(row)]),
        (schema.events, "sequence", [_event(update) for update in updates]),
        (schema.event_updates, None, [_update(update) for update in updates]),
    ]
    for table, guard, rows in batches:
        if rows:
            yield _upsert(table, guard), {"rows": _as_json(table, guard, rows)}


@cache
def _upsert(table: sa.Table, guard: str | None) -> Insert:
    """Insert rows that come as one JSON text, or replace the rows there are where their guard is not newer.

    One parameter however many rows: that costs a tenth of a statement a row.
    """
    rows = sa.func.json_to_recordset(sa.cast(sa.bindparam("rows", type_=sa.Text), sa.JSON))
    new = rows.table_valued(*(sa.column(column.name, column.type) for column in table.columns))
    statement = insert(table).from_select(
        [column.name for column in table.columns], sa.select(new.render_derived(name="new", with_types=True))
    )
    keys = [column.name for column in table.primary_key]
    others = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in keys}
    return statement.on_conflict_do_update(
        index_elements=keys,
        set_=others,
        where=None if guard is None else table.c[guard] <= statement.excluded[guard],
    )


def _as_json(table: sa.Table, guard: str | None, rows: list[Row]) -> str:
    """The rows as JSON: of those with the same key the newest, and in order of their keys, so that writers do not deadlock."""
    key = itemgetter(*(column.name for column in table.primary_key))
    newest = {key(row): row for row in (rows if guard is None else sorted(rows, key=itemgetter(guard)))}
    text = msgspec.json.encode([newest[of] for of in sorted(newest)]).decode()
    return _NUL.sub(r"\1\\ufffd", text) if "\\u0000" in text else text


def _cluster(record: Cluster) -> Row:
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


def _story(record: Assignment) -> Row:
    story = record.story
    bits = simhash.from_hex(record.simhash)
    return {
        "id": story.id,
        "edition": story.edition,
        "url": story.url,
        "title": story.title,
        "publisher": story.publisher,
        "family": story.family,
        "language": story.language,
        "crawled_at": story.crawled_at,
        "received_at": story.received_at,
        "published_at": story.published_at,
        "simhash": bits - 2**64 if bits >= 2**63 else bits,
        "late": record.late,
        "position": record.position,
        "retracted": story.retracted,
    }


def _membership(record: Assignment) -> Row:
    return {
        "edition": record.story.edition,
        "story_id": record.story.id,
        "cluster_id": record.cluster_id,
        "position": record.position,
    }


def _links(record: Assignment) -> Iterable[Row]:
    edition, story_id = record.story.edition, record.story.id
    scores = {similar.story_id: similar.score for similar in record.similar}
    for other_id, score in scores.items():
        yield {"edition": edition, "story_id": story_id, "other_id": other_id, "kind": "similar", "score": score}
    if record.duplicate_of is not None:
        yield {
            "edition": edition,
            "story_id": story_id,
            "other_id": record.duplicate_of,
            "kind": "duplicate",
            "score": scores.get(record.duplicate_of),
        }


def _event(record: EventUpdate) -> Row:
    return {
        "id": record.event_id,
        "cluster_id": record.cluster_id,
        "edition": record.edition,
        "sequence": record.sequence,
        "state": record.state,
        "headline": record.headline,
        "updated_at": record.at,
        "first_seen": record.first_seen,
        "last_seen": record.last_seen,
        "stories_in_window": record.stories_in_window,
        "publishers_in_window": record.publishers_in_window,
        "copies_in_window": record.copies_in_window,
        "stories_total": record.stories_total,
        "burst_score": record.burst_score,
        "merged_into": record.merged_into,
    }


def _update(record: EventUpdate) -> Row:
    return {
        "event_id": record.event_id,
        "sequence": record.sequence,
        "state": record.state,
        "at": record.at,
        "position": record.position,
        "stories_in_window": record.stories_in_window,
        "stories_total": record.stories_total,
        "record": record,
    }
