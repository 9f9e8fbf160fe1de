"""Offsets: how far each partition of a topic is stored, written in the transaction that stores it.

Kafka knows how far the store has come, too, and must never be ahead of what Postgres says. It is where an older copy of the
database was restored, or another database is used: the records between are on the topic, and missing here.
"""

from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sa

from pipeline.storage import schema
from pipeline.storage.engine import create_engine, explained

UNKNOWN = ""
"""The topic of a row that says: what was stored before offsets were kept is not known."""


class Stored(NamedTuple):
    """Part of a batch: what the store has read of a partition."""

    topic: str
    partition: int
    came_from: int
    """the offset up to which the store had finished before, as it remembers, or Kafka if it has just begun"""
    end: int
    """the offset after the last record of the batch"""
    topic_end: int
    """the offset after the last record of the partition: what is stored beyond it was on a topic that was deleted"""


class StoredOffset(NamedTuple):
    """How far a partition is stored."""

    next_offset: int
    missing_from: int | None
    """the offset from which records are missing, if any are"""


RECORD = sa.text(f"""
INSERT INTO news.stored_offsets AS s (topic, partition, next_offset, missing_from)
SELECT n.topic, n.partition, n."end", CASE
    WHEN n.came_from > 0 AND NOT EXISTS (SELECT FROM news.stored_offsets WHERE topic = '{UNKNOWN}') THEN 0 END
FROM jsonb_to_recordset(CAST(:stored AS jsonb)) AS n(topic text, partition int, came_from bigint, "end" bigint, topic_end bigint)
ORDER BY n.topic, n.partition
ON CONFLICT (topic, partition) DO UPDATE SET (next_offset, missing_from) = (
    SELECT
        CASE WHEN n.came_from <= s.missing_from OR s.next_offset > n.topic_end
             THEN n."end" ELSE greatest(s.next_offset, n."end") END,
        CASE WHEN s.next_offset > n.topic_end AND n.came_from > 0 THEN 0
             WHEN n.came_from <= s.missing_from OR s.next_offset > n.topic_end THEN NULL
             WHEN n.came_from > s.next_offset THEN coalesce(s.missing_from, s.next_offset) ELSE s.missing_from END
    FROM jsonb_to_recordset(CAST(:stored AS jsonb))
        AS n(topic text, partition int, came_from bigint, "end" bigint, topic_end bigint)
    WHERE (n.topic, n.partition) = (s.topic, s.partition)
)
""")  # noqa: S608 - our own names


def stored_offsets(uri: str) -> dict[tuple[str, int], StoredOffset]:
    """How far each partition is stored, by topic and number. Raises DatabaseError."""
    table = schema.stored_offsets
    engine = create_engine(uri)
    try:
        with explained(engine), engine.connect() as connection:
            rows = connection.execute(sa.select(table)).all()
            return {(row.topic, row.partition): StoredOffset(row.next_offset, row.missing_from) for row in rows}
    finally:
        engine.dispose()


def missing_from(known: dict[tuple[str, int], StoredOffset], topic: str, partition: int, committed: int) -> int | None:
    """The offset from which records of a partition are missing in Postgres, the store having finished up to `committed`."""
    found = known.get((topic, partition))
    if found is None:
        return 0 if committed > 0 and (UNKNOWN, 0) not in known else None
    if found.missing_from is not None:
        return found.missing_from
    return found.next_offset if committed > found.next_offset else None


def continue_from(uri: str, places: Iterable[tuple[str, int, int]]) -> None:
    """Say that partitions, each with its topic and number, are stored up to these offsets: the store reads on from there.

    Raises DatabaseError.
    """
    statement = """
        INSERT INTO news.stored_offsets (topic, partition, next_offset) VALUES (:topic, :partition, :offset)
        ON CONFLICT (topic, partition) DO UPDATE SET next_offset = excluded.next_offset, missing_from = NULL
    """
    _write(uri, statement, places)


def skip_to(uri: str, place: tuple[str, int, int]) -> None:
    """Say that what lies before this offset of a partition is left out on purpose. Raises DatabaseError."""
    statement = """
        UPDATE news.stored_offsets SET next_offset = greatest(next_offset, :offset)
        WHERE topic = :topic AND partition = :partition
    """
    _write(uri, statement, [place])


def _write(uri: str, statement: str, places: Iterable[tuple[str, int, int]]) -> None:
    engine = create_engine(uri)
    try:
        with explained(engine), engine.begin() as connection:
            for topic, partition, offset in places:
                named = {"topic": topic, "partition": partition, "offset": offset}
                connection.execute(sa.text(statement), named)
    finally:
        engine.dispose()
