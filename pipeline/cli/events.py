"""`newsburst events`: the events topic, as lines."""

import asyncio
from contextlib import suppress

import click
from rich.markup import escape

from pipeline.cli.output import console
from pipeline.config import Settings, load
from pipeline.listen import listen
from pipeline.records import EventUpdate, decode


@click.command()
@click.option("--follow", is_flag=True, help="Stay, and print each update as it comes, until Ctrl-C.")
@click.option("--alerts", is_flag=True, help="Only the first update of each event.")
@click.option("--json", "as_json", is_flag=True, help="The records as they stand on the topic, one a line.")
def events(follow: bool, alerts: bool, as_json: bool) -> None:
    """Print the updates of all events from the events topic, the oldest first.

    \b
    Example: newsburst events --follow --alerts
    """  # noqa: D301 - \b is click's mark for lines to keep
    with suppress(KeyboardInterrupt):
        asyncio.run(_events(load(), follow, alerts, as_json))


async def _events(settings: Settings, follow: bool, alerts: bool, as_json: bool) -> None:
    async for record in listen(settings, ["events"], follow=follow):
        if record.value is None:
            continue
        update = decode(record.value, EventUpdate)
        if alerts and update.sequence > 1:
            continue
        if as_json:
            click.echo(record.value)
        else:
            console.print(line(update), soft_wrap=True)


def line(update: EventUpdate) -> str:
    """An update as one line for people, in rich's markup."""
    colour = {"started": "bold red", "updated": "yellow", "ended": "dim"}[update.state]
    return (
        f"{update.at:%Y-%m-%d %H:%M} [{colour}]{update.state:7}[/] {escape(update.headline)} "
        f"[dim]({update.stories_in_window} stories, {update.publishers_in_window} publishers, {update.event_id})[/]"
    )
