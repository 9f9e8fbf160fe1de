"""Connections to Postgres from the URI people write for `psql`."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

CONNECT_SECONDS = 10
QUERY_CANCELED = "57014"
MILLISECOND = timedelta(milliseconds=1)
LOST_WITHIN = {
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
"""When the network counts as lost, in seconds and milliseconds (https://www.postgresql.org/docs/current/libpq-connect.html)."""
LIMITS = """
SET idle_in_transaction_session_timeout = '20s';
SET tcp_keepalives_idle = 20;
SET tcp_keepalives_interval = 5;
SET tcp_keepalives_count = 4;
SET tcp_user_timeout = 30000
"""
"""The same on the server's side; and a transaction in which nothing happens ends: its worker may be frozen."""


class DatabaseError(RuntimeError):
    """Postgres could not be reached or refused; the message says what and where."""


def create_engine(uri: str, *, timeout: timedelta | None = None, read_only: bool = False) -> sa.Engine:
    """An engine for a `postgresql://` URI, on psycopg 3. Connects at first use. Raises DatabaseError for what is no URI.

    A statement that takes longer than `timeout` fails.
    """
    try:
        url = sa.make_url(uri)
    except sa.exc.ArgumentError:
        raise DatabaseError(
            "NEWSBURST_POSTGRES is no Postgres URI: it should look like postgresql://user@host:5432/database."
        ) from None
    if url.drivername in {"postgresql", "postgres"}:
        url = url.set(drivername="postgresql+psycopg")
    engine = sa.create_engine(
        url,
        pool_pre_ping=True,
        isolation_level="READ COMMITTED",  # who waits for a lock has to see what was written under it
        connect_args={
            "connect_timeout": CONNECT_SECONDS,
            "fallback_application_name": f"newsburst {os.getpid()}",  # for who looks into pg_stat_activity
            **LOST_WITHIN,
        },
        pool_timeout=30 if timeout is None else timeout.total_seconds(),
        hide_parameters=True,  # what people write to us has no place in logs
    )
    limits = LIMITS
    if timeout is not None:
        limits += f"; SET statement_timeout = '{timeout / MILLISECOND:.0f}ms'"
    if read_only:
        limits += "; SET default_transaction_read_only = on"

    @sa.event.listens_for(engine, "connect")
    def limit(connection: Any, _: Any) -> None:
        """Have the server give up a session of ours that does not go on, and its locks with it."""
        with connection.cursor() as cursor:
            cursor.execute(limits)
        connection.commit()

    return engine


def shown(uri: sa.URL | str) -> str:
    """A URI without its passwords, wherever in it they stand. Raises DatabaseError for what is no URI."""
    try:
        url = sa.make_url(uri)
    except sa.exc.ArgumentError:
        raise DatabaseError("NEWSBURST_POSTGRES is no URI: write it as postgresql://user@host:5432/database.") from None
    query = {name: "***" if "password" in name.lower() else value for name, value in url.query.items()}
    return url.set(query=query).render_as_string().replace("%2A%2A%2A", "***")


class NotMigrated(DatabaseError):
    """Postgres knows no such table or function, or does not allow it."""


class InvalidValue(DatabaseError):
    """Postgres does not take a value."""


class TooSlow(DatabaseError):
    """A statement took longer than its timeout."""


@contextmanager
def explained(engine: sa.Engine) -> Iterator[None]:
    """Turn what SQLAlchemy raises into a DatabaseError that says where and what to do, without the password."""
    try:
        yield
    except sa.exc.OperationalError as error:
        if getattr(error.orig, "sqlstate", None) == QUERY_CANCELED:
            raise TooSlow("Postgres did not answer in time: ask for less, such as a shorter time.") from error
        raise DatabaseError(
            f"No Postgres answers at {shown(engine.url)} (NEWSBURST_POSTGRES): {_first_line(error)}"
        ) from error
    except sa.exc.DataError as error:
        raise InvalidValue(f"{_first_line(error)}.") from error
    except sa.exc.ProgrammingError as error:
        raise NotMigrated(
            f"Postgres at {shown(engine.url)}: {_first_line(error)}. Has `newsburst migrate` been run?"
        ) from error


def check(uri: str) -> Callable[[], str]:
    """A function that says what is wrong with the database; nothing if it answers."""
    engine = create_engine(uri)

    def wrong() -> str:
        try:
            with explained(engine), engine.connect() as connection:
                connection.execute(sa.text("SELECT 1"))
        except DatabaseError as error:
            return str(error)
        finally:
            engine.dispose()
        return ""

    return wrong


def _first_line(error: sa.exc.DBAPIError) -> str:
    return str(error.orig).strip().splitlines()[0]
