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


class UnknownRevision(ValueError):
    """A revision that this version does not have; the message says which and what to do."""


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(resources.files("migrations")))
    return config


def migrate(uri: str, to: str | None = None) -> str:
    """Apply what is missing, or take back what came after the revision `to`; returns the revision the database is at.

    Raises DatabaseError, and UnknownRevision.
    """
    engine = create_engine(uri)
    config = _config()
    at, known = current(uri), [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    if at and at not in known:
        raise UnknownRevision(
            f"Postgres is at revision {at}, which this version of Newsburst does not know: its newest is {known[0]}. "
            f"Use the newer version; to go back to this one, run the newer one's `newsburst migrate --to {known[0]}` first."
        )
    if to is not None and to not in known:
        raise UnknownRevision(f"There is no revision {to!r}; there are {', '.join(sorted(known))}.")
    target = to or known[0]
    try:
        with explained(engine), engine.connect() as connection:
            connection.execute(sa.text("SELECT pg_advisory_lock(:key)"), {"key": LOCK})
            if not sa.inspect(connection).has_schema(SCHEMA):  # who may use the schema need not be allowed to make one
                connection.execute(sa.schema.CreateSchema(SCHEMA))
            connection.commit()
            config.attributes["connection"] = connection
            try:
                (command.downgrade if at > target else command.upgrade)(config, target)
            except NotImplementedError as error:
                raise UnknownRevision(str(error)) from None
            connection.commit()
            connection.execute(sa.text("SELECT pg_advisory_unlock(:key)"), {"key": LOCK})
            connection.commit()
    finally:
        engine.dispose()
    return target


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
