"""`newsburst retain`: keep what is recent."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import click

from pipeline.config import load
from pipeline.storage.retain import retain
from pipeline.storage.subscriptions import Subscriptions


@click.command("retain")
@click.option("--days", type=click.IntRange(min=1), required=True, help="Stories crawled in the last DAYS are kept.")
@click.option("--events", is_flag=True, help="Events that ended before go, too, with their stories.")
@click.option("--batch", type=click.IntRange(min=1), default=5_000, show_default=True, help="Rows of a transaction.")
def retain_command(days: int, events: bool, batch: int) -> None:
    """Delete old stories from Postgres; workers may go on.

    Run it as the owner of the schema, once a day. Months that are over go at once, the rest in small batches; clusters go when
    nothing refers to them. Events keep their stories.

    \b
    Example: newsburst retain --days 365
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    lives = timedelta(microseconds=settings.cluster_rule().longest_life) + timedelta(hours=settings.look_back_hours)
    if timedelta(days=days) <= lives:
        raise click.UsageError(
            f"--days {days} is too few: a cluster takes in stories for 14 days and lives for "
            f"NEWSBURST_LOOK_BACK_HOURS={settings.look_back_hours:g} after the last, and its stories can still break. "
            f"Keep more than {lives.days} days."
        )
    gone: Counter[str] = Counter()
    for table, number in retain(
        settings.postgres, datetime.now(UTC) - timedelta(days=days), events=events, batch=batch
    ):
        gone[table] += number
    store = Subscriptions(settings.postgres)
    gone["deliveries"] = store.forget(datetime.now(UTC) - timedelta(days=days))
    store.close()
    click.echo(", ".join(f"{number} {table}" for table, number in gone.items() if number) or "nothing", nl=False)
    click.echo(f" deleted: all that was from more than {days} days ago.")
