"""All that is in the schema `news`, in comparable form."""

import sqlalchemy as sa

from pipeline.storage.engine import create_engine
from pipeline.storage.schema import metadata


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
