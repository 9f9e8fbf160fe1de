"""The migrations make the schema that the code works with."""

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import current, latest, migrate
from pipeline.storage.schema import SCHEMA, metadata


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
