"""`newsburst migrate`: bring the schema in Postgres up to date."""

import click

from pipeline.config import load
from pipeline.storage.migrate import current, migrate, revisions


@click.command("migrate")
@click.option("--to", metavar="REVISION", help="Go to this revision instead: back, to run an older version again.")
@click.option("--yes", is_flag=True, help="Do not ask before going back.")
def migrate_command(to: str | None, *, yes: bool) -> None:
    """Bring the schema `news` in Postgres up to date.

    \b
    Example: NEWSBURST_POSTGRES=postgresql://me@db/news newsburst migrate
             newsburst migrate --to 0011        (before an older version is run again; stop all workers first)
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    undone = [revision for revision in revisions() if to is not None and to < revision <= current(settings.postgres)]
    if undone and not yes:
        click.confirm(
            f"This drops what the revisions {', '.join(reversed(undone))} added, with all data in it. Is there a backup?",
            abort=True,
        )
    click.echo(f"Postgres is at revision {migrate(settings.postgres, to)}.")
