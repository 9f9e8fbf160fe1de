"""`newsburst report`: the reports in Postgres."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from pipeline.cli.output import print_json, print_rows
from pipeline.config import load
from pipeline.storage.read import Reader, Row

json_option = click.option("--json", "as_json", is_flag=True, help="A JSON list instead of a table.")


@click.group("report")
def report_command() -> None:
    """Query the reports in Postgres.

    \b
    Example: newsburst report breaking
    """  # noqa: D301 - \b is click's mark for lines to keep


@report_command.command()
@json_option
def breaking(as_json: bool) -> None:
    """The events that have not ended, the latest first.

    \b
    Example: newsburst report breaking --json
    """  # noqa: D301 - \b is click's mark for lines to keep
    columns = ["event_id", "headline", "stories", "publishers", "started_at", "last_seen"]
    _show(Reader.breaking, (), columns, "Breaking now", as_json)


@report_command.command()
@click.argument("event_id", metavar="ID")
@json_option
def event(event_id: str, as_json: bool) -> None:
    """The stories of the event ID, the first first.

    \b
    Example: newsburst report event e0f01066d2e38b2dc
    """  # noqa: D301 - \b is click's mark for lines to keep
    _show(Reader.event, (event_id,), ["crawled_at", "publisher", "title", "url"], f"Stories of {event_id}", as_json)


@report_command.command()
@click.argument("event_id", metavar="ID")
@json_option
def timeline(event_id: str, as_json: bool) -> None:
    """The updates of the event ID in order.

    \b
    Example: newsburst report timeline e0f01066d2e38b2dc
    """  # noqa: D301 - \b is click's mark for lines to keep
    columns = ["sequence", "state", "at", "stories_in_window", "publishers_in_window", "stories_total", "headline"]
    _show(Reader.timeline, (event_id,), columns, f"Course of {event_id}", as_json)


def _show(query: Callable[..., list[Row]], given: Sequence[Any], columns: list[str], title: str, as_json: bool) -> None:
    reader = Reader(load().postgres)
    try:
        rows = query(reader, *given)
    finally:
        reader.close()
    if given and not rows:
        raise click.ClickException(
            f"There is no event {given[0]}: `newsburst report breaking` lists those that break now."
        )
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, columns, title)
