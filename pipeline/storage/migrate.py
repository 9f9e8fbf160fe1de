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


EARLIEST = "0009"
"""The earliest revision that one can go back to."""


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
    at, known = current(uri), revisions()
    if at and at not in known:
        raise UnknownRevision(_unknown(at))
    if to is not None and to not in known:
        raise UnknownRevision(f"There is no revision {to!r}; there are {', '.join(reversed(known))}.")
    target = to or known[0]
    goes_back = at > target
    if goes_back and target < EARLIEST:
        raise UnknownRevision(
            f"Revisions up to {EARLIEST} cannot be undone: restore the database from a backup that was made before."
        )
    try:
        with explained(engine), engine.connect() as connection:
            connection.execute(sa.text("SELECT pg_advisory_lock(:key)"), {"key": LOCK})
            if not sa.inspect(connection).has_schema(SCHEMA):  # who may use the schema need not be allowed to make one
                connection.execute(sa.schema.CreateSchema(SCHEMA))
            connection.commit()
            config.attributes["connection"] = connection
            (command.downgrade if goes_back else command.upgrade)(config, target)
            connection.commit()
            connection.execute(sa.text("SELECT pg_advisory_unlock(:key)"), {"key": LOCK})
            connection.commit()
    finally:
        engine.dispose()
    return target


def revisions() -> list[str]:
    """The revisions that this version knows, the newest first."""
    return [script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()]


def latest() -> str:
    """The newest revision there is."""
    return revisions()[0]


def wrong_schema(uri: str) -> str | None:
    """What is wrong with the schema of a database, and what to do; None if it fits this version. Raises DatabaseError."""
    at, known = current(uri), revisions()
    if at == known[0]:
        return None
    if at and at not in known:
        return _unknown(at)
    return f"The schema {SCHEMA} is at revision {at or 'none'}, not {known[0]}: run `newsburst migrate`."


def _unknown(at: str) -> str:
    newest = latest()
    return (
        f"The schema {SCHEMA} is at revision {at}, which this version of Newsburst does not know: its newest is {newest}. "
        f"Use the newer version; to go back to this one, run the newer one's `newsburst migrate --to {newest}` first."
    )


def current(uri: str) -> str:
    """The revision a database is at; empty if it was never migrated. Raises DatabaseError."""
    engine = create_engine(uri)
    try:
        with explained(engine), engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"version_table_schema": SCHEMA})
            return context.get_current_revision() or ""
    finally:
        engine.dispose()
