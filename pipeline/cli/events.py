"""`newsburst events`: the events topic, as lines."""

import asyncio
from contextlib import suppress
from datetime import UTC

import click
import msgspec
from rich.text import Text

from pipeline.cli.output import console, print_json
from pipeline.codec import InvalidRecord
from pipeline.config import Settings, load
from pipeline.kafka.decode import decode_record
from pipeline.kafka.read import listen
from pipeline.printed import shown
from pipeline.records import EventUpdate


@click.command("events")
@click.option("--follow", is_flag=True, help="Stay, and print each update as it comes, until Ctrl-C.")
@click.option("--alerts", is_flag=True, help="Only the first update of each event.")
@click.option("--json", "as_json", is_flag=True, help="The records as they stand on the topic, one a line.")
def events_command(follow: bool, alerts: bool, as_json: bool) -> None:
    """Print the updates of all events from the events topic, the oldest first.

    \b
    Example: newsburst events --follow --alerts
    """  # noqa: D301 - \b is click's mark for lines to keep
    with suppress(KeyboardInterrupt):
        asyncio.run(_events(load(), follow, alerts, as_json))


async def _events(settings: Settings, follow: bool, alerts: bool, as_json: bool) -> None:
    async for record in listen(settings, ["events"], follow=follow):
        try:
            update = decode_record(record, EventUpdate)
        except InvalidRecord as error:
            click.echo(shown(f"events:{record.partition}:{record.offset}: {error}"), err=True)
            continue
        if alerts and update.sequence != 1:
            continue
        if as_json:
            print_json(msgspec.Raw(record.value))
        else:
            console.print(line(update), soft_wrap=True)


def line(update: EventUpdate) -> Text:
    """An update as one line for people."""
    colour = {"started": "bold red", "reopened": "bold red", "updated": "yellow", "emerging": "cyan", "ended": "dim"}
    return Text.assemble(
        f"{update.at.astimezone(UTC):%Y-%m-%d %H:%MZ} ",
        (f"{update.state:8}", colour[update.state]),
        f" {shown(update.headline)} ",
        (f"({update.stories_in_window} stories, {update.publishers_in_window} publishers, {update.event_id})", "dim"),
    )
