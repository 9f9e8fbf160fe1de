"""Positions: which of two rows is newer, as long as the log goes on. A log that is made again begins at 0."""

import sqlalchemy as sa

from pipeline.storage import schema
from pipeline.storage.engine import create_engine, explained

NEXT = "SELECT coalesce(max(greatest(position, revision)), -1) + 1 FROM news.stories"


def forget_positions(uri: str) -> None:
    """Let whatever is written next be newer than what is there, whose positions become negative. Raises DatabaseError."""
    engine = create_engine(uri)
    try:
        with explained(engine), engine.begin() as connection:
            shift = connection.scalar(sa.text(NEXT))
            for table in (schema.stories, schema.story_versions, schema.event_stories):
                numbers = [table.c[name] for name in ("position", "revision") if name in table.c]
                connection.execute(sa.update(table).values({number: number - shift for number in numbers}))
            connection.execute(sa.update(schema.clusters).values(position=-1))
    finally:
        engine.dispose()
