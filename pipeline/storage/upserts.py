"""Upserts: the statements that write a batch of records, in the order that foreign keys ask for.

Each takes its rows as one JSON text: however many they are, that costs a tenth of a statement a row. Whatever comes twice or out
of date changes nothing, so that the state of Postgres is a function of the set of records written, whatever their order:

- of a cluster and of an event the newest state stays, by position and by sequence; an event has the stories of that state;
- of a story the newest version stays, the others go to `story_versions`; what clustering found of it stays as it was;
- of a publisher the first and the last story;
- of amendments each as it came first, and of a moved story the cluster of the latest one.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from operator import itemgetter
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import Insert, insert

from pipeline.records import Amended, Assignment, Cluster, EventUpdate, Record
from pipeline.storage import schema
from pipeline.storage.rows import (
    Row,
    amendment_row,
    check_edition,
    cluster_row,
    event_row,
    event_story_rows,
    mentioned_cluster_row,
    mentioned_event_row,
    moved_story_rows,
    publisher_row,
    story_row,
    update_row,
)

Statement = tuple[sa.Executable, dict[str, Any]]
FOUND = frozenset(["late", "cluster_id", "duplicate_of", "similar_ids", "similar_scores"])
"""Columns of a story that its assignment fills, and no revision."""
_NUL = re.compile(r"((?<!\\)(?:\\\\)*)\\u0000")
"""In JSON the one character that Postgres cannot hold."""


def statements(records: Sequence[Record]) -> Iterable[Statement]:
    """The statements for a batch with their parameters."""
    assignments = [record for record in records if isinstance(record, Assignment)]
    clusters = [record for record in records if isinstance(record, Cluster)]
    updates = [record for record in records if isinstance(record, EventUpdate)]
    amended = [record for record in records if isinstance(record, Amended)]
    editions = {row.story.edition for row in assignments} | {record.edition for record in clusters}
    editions |= {record.amendment.edition for record in amended}
    for edition in editions | {update.edition for update in updates}:
        check_edition(edition)
    yield from _clusters(assignments, clusters, updates, amended)
    yield from _stories(assignments)
    yield from _amendments(amended)
    yield from _events(updates)
    if assignments:
        # last, as all that write share these rows: they are locked for a short time
        yield _publishers(), {"rows": _as_json(_merged_publishers(assignments))}


def _clusters(
    assignments: Sequence[Assignment],
    clusters: Sequence[Cluster],
    updates: Sequence[EventUpdate],
    amended: Sequence[Amended],
) -> Iterable[Statement]:
    mentioned = {row.cluster_id: row.story.edition for row in assignments}
    mentioned |= {row.cluster_id: row.amendment.edition for row in amended if row.cluster_id is not None}
    mentioned |= {update.cluster_id: update.edition for update in updates}
    mentioned |= {record.merged_into: record.edition for record in clusters if record.merged_into is not None}
    stubs = [mentioned_cluster_row(cluster_id, mentioned[cluster_id]) for cluster_id in sorted(mentioned)]
    if stubs:
        yield _insert_missing(schema.clusters), {"rows": _as_json(stubs)}
    rows = [cluster_row(record) for record in clusters]
    if rows:
        yield _upsert(schema.clusters, "position"), {"rows": _as_json(_newest(schema.clusters, "position", rows))}


def _stories(assignments: Sequence[Assignment]) -> Iterable[Statement]:
    assigned = [story_row(record) for record in assignments if not record.revision]
    if assigned:
        text = _as_json(_newest(schema.stories, "revision", assigned))
        yield _insert_stories(), {"rows": text}
    revised = [story_row(record) for record in assignments if record.revision]
    if revised:
        newest = _newest(schema.stories, "revision", revised)
        text = _as_json(newest)
        yield _keep_versions(), {"rows": _as_json([row for row in revised if row not in newest])}
        yield _replaced_versions(), {"rows": text}
        yield _upsert_stories(), {"rows": text}


def _events(updates: Sequence[EventUpdate]) -> Iterable[Statement]:
    if not updates:
        return
    stubs = [mentioned_event_row(update) for update in updates if update.merged_into is not None]
    if stubs:
        yield _insert_missing(schema.events), {"rows": _as_json(_newest(schema.events, None, stubs))}
    rows = [event_row(update) for update in updates]
    yield _upsert(schema.events, "sequence"), {"rows": _as_json(_newest(schema.events, "sequence", rows))}
    latest = {update.event_id: update for update in sorted(updates, key=lambda update: update.sequence)}
    known = [latest[event_id] for event_id in sorted(latest) if latest[event_id].members is not None]
    if known:
        members = [row for update in known for row in event_story_rows(update)]
        if members:
            yield _upsert_event_stories(), {"rows": _as_json(members)}
        yield (
            sa.text("SELECT news.forget_left_stories(:events, :sequences)"),
            {"events": [update.event_id for update in known], "sequences": [update.sequence for update in known]},
        )
    rows = [update_row(update) for update in updates]
    yield _upsert(schema.event_updates, None), {"rows": _as_json(_newest(schema.event_updates, None, rows))}


def _amendments(amended: Sequence[Amended]) -> Iterable[Statement]:
    if amended:
        rows = [amendment_row(record) for record in sorted(amended, key=lambda record: -record.position)]
        yield _insert_missing(schema.amendments), {"rows": _as_json(_newest(schema.amendments, None, rows))}
    in_order = sorted(amended, key=lambda record: record.position)
    moved = [row for record in in_order for row in moved_story_rows(record)]
    if moved:
        yield _move_stories(), {"rows": _as_json(_newest(schema.stories, None, moved))}


@cache
def _move_stories() -> sa.Update:
    """Put stories into other clusters, but for those that a later amendment moved."""
    table, new = schema.stories, _given(schema.stories)
    later = sa.func.coalesce(table.c.amended, -1) < new.c.amended
    return (
        sa.update(table)
        .values(cluster_id=new.c.cluster_id, amended=new.c.amended)
        .where(*(table.c[key] == new.c[key] for key in _keys(table)), later)
    )


def _given(table: sa.Table) -> sa.TableValuedAlias:
    """The rows that come as JSON, as a table."""
    rows = sa.func.json_to_recordset(sa.cast(sa.bindparam("rows", type_=sa.Text), sa.JSON))
    columns = rows.table_valued(*(sa.column(column.name, column.type) for column in table.columns))
    return columns.render_derived(name="new", with_types=True)


def _insert(table: sa.Table, select: sa.Select[Any]) -> Insert:
    return insert(table).from_select([column.name for column in table.columns], select)


def _keys(table: sa.Table) -> list[str]:
    return [column.name for column in table.primary_key]


@cache
def _insert_missing(table: sa.Table) -> Insert:
    """Insert rows to which others refer, where there are none."""
    return _insert(table, sa.select(_given(table))).on_conflict_do_nothing()


@cache
def _upsert(table: sa.Table, guard: str | None) -> Insert:
    """Insert rows, or replace those there are where their guard is not newer."""
    statement = _insert(table, sa.select(_given(table)))
    keys = _keys(table)
    others: dict[str, Any] = {
        column.name: statement.excluded[column.name] for column in table.columns if column.name not in keys
    }
    if "started_at" in others:  # updates of versions before do not say when the event started
        others["started_at"] = sa.func.coalesce(statement.excluded.started_at, table.c.started_at)
    where = None if guard is None else table.c[guard] <= statement.excluded[guard]
    return statement.on_conflict_do_update(index_elements=keys, set_=others, where=where)


@cache
def _upsert_stories() -> Insert:
    """Insert stories; of those there are, replace the text by a newer one, and what clustering found by what it found first."""
    table = schema.stories
    statement = _insert(table, sa.select(_given(table)))
    new, keys = statement.excluded, _keys(table)
    is_newer, is_first = new.revision >= table.c.revision, new.revision == new.position
    changed = {
        column.name: sa.case((is_first if column.name in FOUND else is_newer, new[column.name]), else_=column)
        for column in table.columns
        if column.name not in {*keys, "amended"}
    }
    changed["cluster_id"] = sa.case(
        (sa.and_(is_first, table.c.amended.is_(None)), new.cluster_id), else_=table.c.cluster_id
    )
    return statement.on_conflict_do_update(index_elements=keys, set_=changed, where=sa.or_(is_newer, is_first))


@cache
def _insert_stories() -> Insert:
    """Insert stories as they were assigned; what has been replaced already is a version."""
    given, versions = _given(schema.stories), schema.story_versions
    there = _upsert_stories().returning(*schema.stories.primary_key, schema.stories.c.revision).cte("there")
    same = sa.and_(*(there.c[key] == given.c[key] for key in _keys(schema.stories)))
    replaced = sa.select(*(given.c[column.name] for column in versions.columns)).join_from(given, there, same)
    return _insert(versions, replaced.where(there.c.revision > given.c.revision)).on_conflict_do_nothing()


@cache
def _keep_versions() -> Insert:
    """Keep these rows as versions."""
    table, new = schema.story_versions, _given(schema.stories)
    return _insert(table, sa.select(*(new.c[column.name] for column in table.columns))).on_conflict_do_nothing()


@cache
def _replaced_versions() -> Insert:
    """Keep what these rows will replace, and those of them that have been replaced already."""
    table, held, new = schema.story_versions, schema.stories, _given(schema.stories)
    newer = new.c.revision > held.c.revision
    columns = (sa.case((newer, held.c[column.name]), else_=new.c[column.name]) for column in table.columns)
    same = sa.and_(*(held.c[key] == new.c[key] for key in _keys(held)))
    select = sa.select(*columns).select_from(new.join(held, same)).where(held.c.revision != new.c.revision)
    return _insert(table, select).on_conflict_do_nothing()


@cache
def _upsert_event_stories() -> Insert:
    """Insert the stories of events; those of an update that is not the event's latest are left out."""
    table, new = schema.event_stories, _given(schema.event_stories)
    latest = sa.and_(schema.events.c.id == new.c.event_id, schema.events.c.sequence == new.c.sequence)
    statement = _insert(table, sa.select(new).join_from(new, schema.events, latest))
    changed = {name: statement.excluded[name] for name in ("crawled_at", "sequence", "score", "is_stray")}
    return statement.on_conflict_do_update(index_elements=_keys(table), set_=changed)


@cache
def _publishers() -> Insert:
    """Insert publishers, or widen the time between their first and their last story."""
    table = schema.publishers
    statement = _insert(table, sa.select(_given(table)))
    new = statement.excluded
    changed = {
        "first_story_at": sa.func.least(table.c.first_story_at, new.first_story_at),
        "last_story_at": sa.func.greatest(table.c.last_story_at, new.last_story_at),
        "country": sa.func.least(table.c.country, new.country),
    }
    return statement.on_conflict_do_update(index_elements=_keys(table), set_=changed)


def _merged_publishers(assignments: Sequence[Assignment]) -> list[Row]:
    """A row for each publisher of the batch, in the order of their keys."""
    found: dict[tuple[str, str], Row] = {}
    for row in map(publisher_row, assignments):
        merged = found.setdefault((row["edition"], row["family"]), row)
        merged["first_story_at"] = min(merged["first_story_at"], row["first_story_at"])
        merged["last_story_at"] = max(merged["last_story_at"], row["last_story_at"])
        merged["country"] = min(filter(None, (merged["country"], row["country"])), default=None)
    return [found[key] for key in sorted(found)]


def _newest(table: sa.Table, guard: str | None, rows: list[Row]) -> list[Row]:
    """Of the rows with the same key the newest, in the order of their keys, so that writers do not deadlock."""
    key = itemgetter(*_keys(table))
    newest = {key(row): row for row in (rows if guard is None else sorted(rows, key=itemgetter(guard)))}
    return [newest[of] for of in sorted(newest)]


def _as_json(rows: Sequence[Row]) -> str:
    text = msgspec.json.encode(rows).decode()
    return _NUL.sub(r"\1\\ufffd", text) if "\\u0000" in text else text
