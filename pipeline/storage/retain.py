"""Retention: old stories, and what nothing refers to without them, go in small batches, beside workers that write."""

from collections.abc import Iterator
from datetime import datetime

import sqlalchemy as sa

from pipeline.storage.engine import create_engine, explained

OLD_STORIES = """
DELETE FROM news.stories WHERE (edition, id) IN (
    SELECT edition, id FROM news.stories WHERE crawled_at < :before ORDER BY crawled_at LIMIT :batch
    FOR UPDATE SKIP LOCKED
)"""
OLD_EVENTS = """
DELETE FROM news.events WHERE id IN (
    SELECT id FROM news.events WHERE state = 'ended' AND last_seen < :before ORDER BY last_seen LIMIT :batch
    FOR UPDATE SKIP LOCKED
)"""
EMPTY_CLUSTERS = """
DELETE FROM news.clusters WHERE id IN (
    SELECT id FROM news.clusters AS cluster
    WHERE coalesce(last_seen, '-infinity') < :before
      AND NOT EXISTS (SELECT FROM news.cluster_stories WHERE cluster_id = cluster.id)
      AND NOT EXISTS (SELECT FROM news.events WHERE cluster_id = cluster.id)
      AND NOT EXISTS (SELECT FROM news.clusters WHERE merged_into = cluster.id)
    LIMIT :batch FOR UPDATE SKIP LOCKED
)"""
"""A cluster goes when its stories, its events and those merged into it have gone."""


def retain(uri: str, before: datetime, *, events: bool, batch: int) -> Iterator[tuple[str, int]]:
    """Delete what is from before this time; yields table and number of each batch. Events stay unless asked for.

    Each batch is a transaction of its own: to stop in between loses nothing. Raises DatabaseError.
    """
    engine = create_engine(uri)
    steps = [("stories", OLD_STORIES), *([("events", OLD_EVENTS)] if events else []), ("clusters", EMPTY_CLUSTERS)]
    try:
        with explained(engine):
            for table, statement in steps:
                gone = batch
                while gone:
                    try:
                        with engine.begin() as connection:
                            gone = connection.execute(sa.text(statement), {"before": before, "batch": batch}).rowcount
                    except sa.exc.IntegrityError:
                        break  # a worker has just referred to one of them: they are for another day
                    if gone:
                        yield table, gone
    finally:
        engine.dispose()
