"""Positions and sequences: which of two rows is newer, as long as the log goes on. A log that is made again begins at 0."""

import sqlalchemy as sa

from pipeline.storage import schema
from pipeline.storage.engine import create_engine, explained

POSITIONS = """
SELECT coalesce(max(greatest(position, revision)) - least(min(least(position, revision)), 0) + 1, 0) FROM (
    SELECT position, revision FROM news.stories UNION ALL SELECT position, position FROM news.event_stories
) positions
"""
"""By how much they move, so that all are below 0 and none meets another on the way."""
SEQUENCES = """
WITH shift AS MATERIALIZED (
    SELECT event_id, max(sequence) - least(min(sequence), 0) + 1 AS by FROM news.event_updates GROUP BY event_id
), updates AS (
    UPDATE news.event_updates u SET sequence = u.sequence - shift.by FROM shift WHERE shift.event_id = u.event_id
), stories AS (
    UPDATE news.event_stories s SET sequence = s.sequence - shift.by FROM shift WHERE shift.event_id = s.event_id
)
UPDATE news.events e SET sequence = e.sequence - shift.by FROM shift WHERE shift.event_id = e.id
"""


def forget_positions(uri: str) -> None:
    """Let whatever is written next be newer than what is there: positions and sequences become negative. Raises DatabaseError."""
    engine = create_engine(uri)
    try:
        with explained(engine), engine.begin() as connection:
            shift = connection.scalar(sa.text(POSITIONS))
            for table in (schema.stories, schema.story_versions, schema.event_stories):
                numbers = [table.c[name] for name in ("position", "revision") if name in table.c]
                connection.execute(sa.update(table).values({number: number - shift for number in numbers}))
            connection.execute(sa.text(SEQUENCES))
            connection.execute(sa.update(schema.clusters).values(position=-1))
    finally:
        engine.dispose()
