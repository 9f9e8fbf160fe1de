"""Positions: which of two rows is newer, as long as the log goes on. A log that is made again begins at 0."""

import sqlalchemy as sa

from pipeline.storage import schema
from pipeline.storage.engine import create_engine, explained


def forget_positions(uri: str) -> None:
    """Let whatever is written next replace what is there. Raises DatabaseError."""
    engine = create_engine(uri)
    try:
        with explained(engine), engine.begin() as connection:
            for table in (schema.stories, schema.clusters, schema.cluster_stories):
                connection.execute(sa.update(table).values(position=-1))
    finally:
        engine.dispose()
