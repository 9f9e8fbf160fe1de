"""Run by Alembic: applies the revisions on the connection that `pipeline.storage.migrate` hands over."""

from alembic import context

from pipeline.storage.schema import SCHEMA, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table_schema=SCHEMA,
    include_schemas=True,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
