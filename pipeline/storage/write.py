"""Idempotent writes: whatever comes twice or out of date changes nothing.

Every upsert is guarded: a cluster by its position, an event by its sequence. So the state of Postgres is a function of the set
of records written, whatever their order and however often each came.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
import stamina
import structlog
from sqlalchemy.dialects.postgresql import Insert, insert

from pipeline.records import Assignment, Cluster, EventUpdate, Record
from pipeline.similarity import simhash
from pipeline.storage import schema
from pipeline.storage.engine import create_engine

log = structlog.get_logger()

Row = dict[str, Any]


class Writer:
    """Writes batches of records to one database."""

    def __init__(self, uri: str) -> None:
        self.engine = create_engine(uri)

    def write(self, records: Sequence[Record]) -> None:
        """Write assignments, clusters and event updates in one transaction.

        Waits and tries again while the database is away or another writer is in the way. Raises sqlalchemy.exc.DBAPIError
        for what trying again cannot mend.
        """
        if not records:
            return
        statements = list(_statements(records))
        for attempt in stamina.retry_context(on=_may_pass, attempts=None, timeout=None, wait_max=5.0):
            with attempt, self.engine.begin() as connection:
                for statement, rows in statements:
                    connection.execute(statement, rows)

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()


def _may_pass(error: Exception) -> bool:
    """Whether it may work later: the connection failed, or a deadlock chose us."""
    passing = isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError)
    if passing:
        log.warning("Postgres did not take a batch; trying again", error=str(error).splitlines()[0])
    return passing


def _statements(records: Sequence[Record]) -> Iterable[tuple[Insert, list[Row]]]:
    """The statements for a batch, in the order that foreign keys ask for; rows sorted, so that writers do not deadlock."""
    assignments = [record for record in records if isinstance(record, Assignment)]
    clusters = [record for record in records if isinstance(record, Cluster)]
    updates = [record for record in records if isinstance(record, EventUpdate)]
    known = {cluster.id for cluster in clusters}
    mentioned = {row.cluster_id: row.story.edition for row in assignments}
    mentioned |= {update.cluster_id: update.edition for update in updates}
    stubs = [
        {"id": cluster_id, "edition": edition, "position": -1, "stories": 0, "publishers": 0}
        for cluster_id, edition in mentioned.items()
        if cluster_id not in known
    ]
    newest = {cluster.id: cluster for cluster in sorted(clusters, key=lambda cluster: cluster.position)}
    batches: list[tuple[Insert, list[Row]]] = [
        (_upsert(schema.clusters, "position"), [_cluster(cluster) for cluster in newest.values()]),
        (insert(schema.clusters).on_conflict_do_nothing(), stubs),
        (_upsert(schema.stories, "position"), [_story(row) for row in assignments]),
        (_upsert(schema.cluster_stories, "position"), [_membership(row) for row in assignments]),
        (_upsert(schema.story_links), [link for row in assignments for link in _links(row)]),
        (_upsert(schema.events, "sequence"), [_event(update) for update in updates]),
        (insert(schema.event_updates).on_conflict_do_nothing(), [_update(update) for update in updates]),
    ]
    for statement, rows in batches:
        if rows:
            keys = [column.name for column in statement.table.primary_key]
            yield statement, sorted(rows, key=lambda row: [row[key] for key in keys])


def _upsert(table: sa.Table, guard: str | None = None) -> Insert:
    """Insert, or replace the row there is if its guard is not newer."""
    statement = insert(table)
    keys = [column.name for column in table.primary_key]
    others = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in keys}
    return statement.on_conflict_do_update(
        index_elements=keys,
        set_=others,
        where=None if guard is None else table.c[guard] <= statement.excluded[guard],
    )


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
    }


def _membership(record: Assignment) -> Row:
    return {"story_id": record.story.id, "cluster_id": record.cluster_id, "position": record.position}


def _links(record: Assignment) -> Iterable[Row]:
    scores = {similar.story_id: similar.score for similar in record.similar}
    for other_id, score in scores.items():
        yield {"story_id": record.story.id, "other_id": other_id, "kind": "similar", "score": score}
    if record.duplicate_of is not None:
        yield {
            "story_id": record.story.id,
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
        "record": msgspec.to_builtins(record),
    }
