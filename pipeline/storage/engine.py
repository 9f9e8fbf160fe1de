"""Connections to Postgres from the URI people write for `psql`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa

CONNECT_SECONDS = 10


class DatabaseError(RuntimeError):
    """Postgres could not be reached or refused; the message says what and where."""


def create_engine(uri: str) -> sa.Engine:
    """An engine for a `postgresql://` URI, on psycopg 3. Connects at first use. Raises DatabaseError for what is no URI."""
    try:
        url = sa.make_url(uri)
    except sa.exc.ArgumentError:
        raise DatabaseError(
            "NEWSBURST_POSTGRES is no Postgres URI: it should look like postgresql://user@host:5432/database."
        ) from None
    if url.drivername in {"postgresql", "postgres"}:
        url = url.set(drivername="postgresql+psycopg")
    return sa.create_engine(
        url,
        pool_pre_ping=True,
        connect_args={"connect_timeout": CONNECT_SECONDS},
        hide_parameters=True,  # what people write to us has no place in logs
    )


@contextmanager
def explained(engine: sa.Engine) -> Iterator[None]:
    """Turn what SQLAlchemy raises into a DatabaseError that says where and what to do, without the password."""
    try:
        yield
    except sa.exc.OperationalError as error:
        raise DatabaseError(
            f"No Postgres answers at {engine.url.render_as_string()} (NEWSBURST_POSTGRES): {_first_line(error)}"
        ) from error
    except sa.exc.ProgrammingError as error:
        raise DatabaseError(
            f"Postgres at {engine.url.render_as_string()}: {_first_line(error)}. Has `newsburst migrate` been run?"
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
