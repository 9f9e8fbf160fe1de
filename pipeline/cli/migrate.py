"""`newsburst migrate`: bring the schema in Postgres up to date."""

import click

from pipeline.config import load
from pipeline.storage.migrate import migrate


@click.command("migrate")
@click.option("--to", metavar="REVISION", help="Go to this revision instead: back, to run an older version again.")
def migrate_command(to: str | None) -> None:
    """Bring the schema `news` in Postgres up to date.

    \b
    Example: NEWSBURST_POSTGRES=postgresql://me@db/news newsburst migrate
             newsburst migrate --to 0011        (before an older version is run again; stop all workers first)
    """  # noqa: D301 - \b is click's mark for lines to keep
    click.echo(f"Postgres is at revision {migrate(load().postgres, to)}.")
