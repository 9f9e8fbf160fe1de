"""Batches of records into a database, and all that is in the schema `news` then, in comparable form."""

from itertools import zip_longest

import sqlalchemy as sa

from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import migrate
from pipeline.storage.schema import metadata
from pipeline.storage.write import Writer


def write(uri, *batches):
    """Migrate a database, and write batches of records into it, each in a transaction."""
    migrate(uri)
    writer = Writer(uri)
    for batch in batches:
        writer.write(batch)
    writer.close()


def dump(uri):
    """Every row of every table, by table."""
    engine = create_engine(uri).execution_options(isolation_level="AUTOCOMMIT")  # to take in many rows takes its time
    try:
        with engine.connect() as connection:
            return {
                table.name: connection.execute(sa.select(table).order_by(*table.primary_key)).all()
                for table in metadata.sorted_tables
            }
    finally:
        engine.dispose()


KEPT_BY_PROCESSES = {"push_positions", "stored_offsets"}
"""Tables that say how far a process is; what follows from the log is in all others."""


def differing_tables(uri, other):
    """The names of the tables that two databases do not hold alike, however large they are."""
    engines = [create_engine(each).execution_options(isolation_level="AUTOCOMMIT") for each in (uri, other)]
    try:
        return [
            table.name
            for table in metadata.sorted_tables
            if table.name not in KEPT_BY_PROCESSES
            and any(rows != others for rows, others in zip_longest(*(_pages(engine, table) for engine in engines)))
        ]
    finally:
        for engine in engines:
            engine.dispose()


def _pages(engine, table, size=20_000):
    """The rows of a table by key, so many at a time: a statement must not take too long."""
    key = sa.tuple_(*table.primary_key)
    statement = sa.select(table).order_by(*table.primary_key).limit(size)
    last = None
    with engine.connect() as connection:
        while rows := connection.execute(statement if last is None else statement.where(key > last)).all():
            yield rows
            last = sa.tuple_(*(rows[-1]._mapping[column] for column in table.primary_key))
