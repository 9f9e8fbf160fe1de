"""A database that is full, slow, locked or half migrated: writers wait, nothing is half done."""

import contextlib
import threading
import time

import pytest
import sqlalchemy as sa

from pipeline.storage.engine import DatabaseError, create_engine
from pipeline.storage.migrate import current, latest, migrate
from pipeline.storage.write import Writer
from tests.storage.dump import dump
from tests.storage.test_write import records, write

DOCUMENTS = 1.5
"""Seconds for which the database is of no use."""


@contextlib.contextmanager
def connected(uri, *statements):
    """A connection with a transaction under way, in which these were executed."""
    engine = create_engine(uri)
    try:
        with engine.connect() as connection:
            for statement in statements:
                connection.execute(sa.text(statement))
            yield connection
    finally:
        engine.dispose()


def execute(uri, *statements):
    with connected(uri, *statements) as connection:
        connection.commit()


def writes(uri, made):
    """Start to write; returns the thread."""

    def run():
        writer = Writer(uri)
        writer.write(made)
        writer.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_statement_that_takes_too_long_is_tried_again(new_database):
    calm, slow = new_database(), new_database()
    made = records()
    write(calm, made)
    migrate(slow)
    name = sa.make_url(slow).database
    execute(slow, f"ALTER DATABASE {name} SET statement_timeout = '100ms'")
    with connected(slow, "LOCK TABLE news.stories IN ACCESS EXCLUSIVE MODE") as holder:
        writing = writes(slow, made)
        time.sleep(DOCUMENTS)
        assert writing.is_alive()
        holder.rollback()
    writing.join(30)
    assert dump(slow) == dump(calm)


def test_a_server_without_a_free_connection_is_waited_for(database):
    migrate(database)
    execute(
        database,
        "DROP ROLE IF EXISTS one_at_a_time",
        f"CREATE ROLE one_at_a_time LOGIN CONNECTION LIMIT 1 PASSWORD '{sa.make_url(database).password}'",
        "GRANT ALL ON SCHEMA news TO one_at_a_time",
        "GRANT ALL ON ALL TABLES IN SCHEMA news TO one_at_a_time",
    )
    limited = sa.make_url(database).set(username="one_at_a_time").render_as_string(hide_password=False)
    with connected(limited):
        writing = writes(limited, records())
        time.sleep(DOCUMENTS)
        assert writing.is_alive()
    writing.join(30)
    assert len(dump(database)["stories"]) == 24
    execute(database, "DROP OWNED BY one_at_a_time", "DROP ROLE one_at_a_time")


def test_connections_that_are_cut_in_mid_transaction_leave_nothing_half_written(new_database):
    calm, cut = new_database(), new_database()
    made = records()
    write(calm, made)
    migrate(cut)
    with connected(cut, "LOCK TABLE news.publishers IN ACCESS EXCLUSIVE MODE") as holder:  # stories are written before
        writing = writes(cut, made)
        time.sleep(DOCUMENTS / 3)
        holder.execute(
            sa.text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
        holder.rollback()
    writing.join(30)
    assert dump(cut) == dump(calm)


def test_a_migration_that_fails_leaves_the_schema_as_it_was(database):
    execute(database, "CREATE SCHEMA news", "CREATE TABLE news.stories (mine int)")
    with pytest.raises(DatabaseError, match="already exists"):
        migrate(database)
    assert current(database) == ""
    with connected(database) as connection:
        assert sa.inspect(connection).get_table_names("news") == ["stories"]
    execute(database, "DROP TABLE news.stories")
    assert migrate(database) == latest()
