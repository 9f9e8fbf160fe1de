"""Retention: old partitions are dropped, and what is old in the rest goes in small batches, beside workers that write.

Stories of events that are kept are kept with them: a partition that has some is emptied of all others.
"""

from collections.abc import Iterator
from datetime import datetime

import sqlalchemy as sa

from pipeline.storage.engine import create_engine, explained

PARTITIONS = """
SELECT c.relname, (regexp_match(pg_get_expr(c.relpartbound, c.oid), $$TO \\('([^']+)'\\)$$))[1]::timestamptz AS until
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'news.stories'::regclass ORDER BY until
"""
IN_EVENTS = """
EXISTS (SELECT FROM news.event_stories m WHERE m.edition = story.edition AND m.position = story.position
                                           AND m.crawled_at = story.crawled_at)
"""
OLD_STORIES = f"""
DELETE FROM news.stories WHERE (edition, position, crawled_at) IN (
    SELECT edition, position, crawled_at FROM news.stories AS story WHERE crawled_at < :before AND NOT {IN_EVENTS}
    ORDER BY crawled_at LIMIT :batch FOR UPDATE SKIP LOCKED
)"""  # noqa: S608 - our text
OLD_VERSIONS = f"""
DELETE FROM news.story_versions WHERE (edition, position, crawled_at, revision) IN (
    SELECT edition, position, crawled_at, revision FROM news.story_versions AS story
    WHERE crawled_at < :before AND NOT {IN_EVENTS} LIMIT :batch FOR UPDATE SKIP LOCKED
)"""  # noqa: S608 - our text
OLD_EVENTS = """
DELETE FROM news.events WHERE id IN (
    SELECT id FROM news.events WHERE state IN ('ended', 'emerging') AND last_seen < :before ORDER BY last_seen LIMIT :batch
    FOR UPDATE SKIP LOCKED
)"""
EMPTY_CLUSTERS = """
WITH part AS MATERIALIZED (
    SELECT id, last_seen FROM news.clusters WHERE id > :last ORDER BY id LIMIT :batch FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM news.clusters AS cluster USING part
    WHERE cluster.id = part.id AND coalesce(part.last_seen, '-infinity') < :before
      AND NOT EXISTS (SELECT FROM news.stories WHERE cluster_id = cluster.id)
      AND NOT EXISTS (SELECT FROM news.events WHERE cluster_id = cluster.id)
      AND NOT EXISTS (SELECT FROM news.clusters AS merged WHERE merged.merged_into = cluster.id)
    RETURNING 1
)
SELECT (SELECT count(*) FROM gone), (SELECT max(id) FROM part)
"""
"""A cluster goes when its stories, its events and those merged into it have gone. Read by id: there may be millions."""


def retain(uri: str, before: datetime, *, events: bool, batch: int) -> Iterator[tuple[str, int]]:
    """Delete what is from before this time; yields table and number of each step. Events stay unless asked for.

    Each step is a transaction of its own: to stop in between loses nothing. Raises DatabaseError.
    """
    engine = create_engine(uri)
    try:
        with explained(engine):
            if events:
                yield from _in_batches(engine, "events", OLD_EVENTS, before, batch)
            yield from _old_partitions(engine, before)
            yield from _in_batches(engine, "stories", OLD_STORIES, before, batch)
            yield from _in_batches(engine, "story_versions", OLD_VERSIONS, before, batch)
            yield from _empty_clusters(engine, before, batch)
    finally:
        engine.dispose()


def _old_partitions(engine: sa.Engine, before: datetime) -> Iterator[tuple[str, int]]:
    with engine.connect() as connection:
        old = [name for name, until in connection.execute(sa.text(PARTITIONS)) if until <= before]
    for name in old:
        table = f"news.{engine.dialect.identifier_preparer.quote(name)}"
        with engine.begin() as connection:
            connection.execute(sa.text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
            there = connection.scalar(sa.text(f"SELECT count(*) FROM {table}"))  # noqa: S608 - our names
            connection.execute(
                sa.text(f"CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM {table} AS story WHERE {IN_EVENTS}")  # noqa: S608
            )
            kept = connection.scalar(sa.text("SELECT count(*) FROM kept"))
            if kept and kept < there:
                connection.execute(sa.text(f"TRUNCATE {table}"))
                connection.execute(sa.text(f"INSERT INTO {table} SELECT * FROM kept"))  # noqa: S608 - our names
        if not kept:
            with (
                engine.begin() as connection
            ):  # the whole table first, as writers lock it; an event may have got stories
                connection.execute(sa.text("LOCK TABLE news.stories IN ACCESS EXCLUSIVE MODE"))
                if not connection.scalar(sa.text(f"SELECT EXISTS (SELECT FROM {table} AS story WHERE {IN_EVENTS})")):  # noqa: S608
                    connection.execute(sa.text(f"DROP TABLE {table}"))
        if there > kept:
            yield "stories", there - kept


def _in_batches(
    engine: sa.Engine, table: str, statement: str, before: datetime, batch: int
) -> Iterator[tuple[str, int]]:
    gone = batch
    while gone:
        with engine.begin() as connection:
            gone = connection.execute(sa.text(statement), {"before": before, "batch": batch}).rowcount
        if gone:
            yield table, gone


def _empty_clusters(engine: sa.Engine, before: datetime, batch: int) -> Iterator[tuple[str, int]]:
    found = 1
    while found:  # those that others were merged into go when these have gone
        last, found = "", 0
        while last is not None:
            try:
                with engine.begin() as connection:
                    given = {"last": last, "before": before, "batch": batch}
                    gone, last = connection.execute(sa.text(EMPTY_CLUSTERS), given).one()
            except sa.exc.IntegrityError:
                return  # a worker has just referred to one of them: they are for another day
            if gone:
                found += gone
                yield "clusters", gone
