"""The migrations make the schema that the code works with."""

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import UnknownRevision, current, latest, migrate
from pipeline.storage.schema import SCHEMA, metadata
from tests.storage.dump import dump, write
from tests.storage.test_write import records


def test_the_migrations_and_the_schema_agree(database):
    assert current(database) == ""
    assert migrate(database) == current(database) == latest()
    engine = create_engine(database)
    with engine.connect() as connection:
        options = {
            "include_schemas": True,
            "include_name": lambda name, kind, _: kind != "schema" or name == SCHEMA,
            "include_object": lambda _thing, name, *_: name != "alembic_version",
            "version_table_schema": SCHEMA,
        }
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_migrating_again_changes_nothing(database):
    assert migrate(database) == migrate(database)


def test_everything_that_people_query_is_described(database):
    migrate(database)
    engine = create_engine(database)
    with engine.connect() as connection:
        undescribed = connection.execute(
            sa.text(
                "SELECT relname FROM pg_class WHERE relnamespace = 'news'::regnamespace AND relkind IN ('r', 'v') "
                "AND obj_description(oid, 'pg_class') IS NULL AND relname <> 'alembic_version'"
                "UNION SELECT proname FROM pg_proc WHERE pronamespace = 'news'::regnamespace "
                "AND obj_description(oid, 'pg_proc') IS NULL"
            )
        ).all()
    engine.dispose()
    assert undescribed == []


def test_an_older_version_can_be_run_again(database, tmp_path, monkeypatch):
    migrate(database)
    write(database, records())
    before = dump(database)
    assert migrate(database, "0009") == "0009"
    assert current(database) == "0009"
    assert migrate(database) == latest()
    after = dump(database)
    assert {name: rows for name, rows in after.items() if name in ("clusters", "events", "event_stories")} == {
        name: rows for name, rows in before.items() if name in ("clusters", "events", "event_stories")
    }
    with pytest.raises(
        UnknownRevision, match="Revisions up to 0009 cannot be undone: restore the database from a backup"
    ):
        migrate(database, "0006")
    with pytest.raises(UnknownRevision, match="There is no revision 'x'; there are 0001, "):
        migrate(database, "x")


def test_a_database_of_a_newer_version_is_refused_with_what_to_do(database):
    migrate(database)
    engine = create_engine(database)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE news.alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(UnknownRevision, match=f"revision 9999.*newest is {latest()}.*migrate --to {latest()}"):
        migrate(database)
