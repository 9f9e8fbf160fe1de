"""Bring the schema `news` of a database up to date (Alembic, revisions in `migrations/`)."""

from importlib import resources

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from pipeline.storage.engine import create_engine, explained
from pipeline.storage.schema import SCHEMA

LOCK = 7_012_026
"""Advisory lock: of several that migrate at once, one does and the others wait."""


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(resources.files("migrations")))
    return config


def migrate(uri: str) -> str:
    """Apply what is missing; returns the revision the database is at. Raises DatabaseError."""
    engine = create_engine(uri)
    config = _config()
    try:
        with explained(engine), engine.connect() as connection:
            connection.execute(sa.text("SELECT pg_advisory_lock(:key)"), {"key": LOCK})
            if not sa.inspect(connection).has_schema(SCHEMA):  # who may use the schema need not be allowed to make one
                connection.execute(sa.schema.CreateSchema(SCHEMA))
            connection.commit()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.commit()
            connection.execute(sa.text("SELECT pg_advisory_unlock(:key)"), {"key": LOCK})
            connection.commit()
    finally:
        engine.dispose()
    return latest()


def latest() -> str:
    """The newest revision there is."""
    return ScriptDirectory.from_config(_config()).get_current_head() or ""


def current(uri: str) -> str:
    """The revision a database is at; empty if it was never migrated. Raises DatabaseError."""
    engine = create_engine(uri)
    try:
        with explained(engine), engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"version_table_schema": SCHEMA})
            return context.get_current_revision() or ""
    finally:
        engine.dispose()
