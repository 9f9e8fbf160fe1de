"""`newsburst migrate`: bring the schema in Postgres up to date."""

import click

from pipeline.config import load
from pipeline.storage.migrate import migrate


@click.command("migrate")
def migrate_command() -> None:
    """Bring the schema `news` in Postgres up to date.

    \b
    Example: NEWSBURST_POSTGRES=postgresql://me@db/news newsburst migrate
    """  # noqa: D301 - \b is click's mark for lines to keep
    click.echo(f"Postgres is at revision {migrate(load().postgres)}.")
