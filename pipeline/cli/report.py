"""`newsburst report`: the reports in Postgres."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
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
    _show_of_event(Reader.event, event_id, ["crawled_at", "publisher", "title", "url"], "Stories of", as_json)


@report_command.command()
@click.argument("event_id", metavar="ID")
@json_option
def timeline(event_id: str, as_json: bool) -> None:
    """The updates of the event ID in order.

    \b
    Example: newsburst report timeline e0f01066d2e38b2dc
    """  # noqa: D301 - \b is click's mark for lines to keep
    columns = ["sequence", "state", "at", "stories_in_window", "publishers_in_window", "stories_total", "headline"]
    _show_of_event(Reader.timeline, event_id, columns, "Course of", as_json)


@report_command.command()
@click.argument("event_id", metavar="ID")
@json_option
def linked(event_id: str, as_json: bool) -> None:
    """The events of other editions that are probably one happening with the event ID, the first first.

    \b
    Example: newsburst report linked e0f01066d2e38b2dc
    """  # noqa: D301 - \b is click's mark for lines to keep
    columns = ["edition", "started_at", "minutes_earlier", "score", "headline", "event_id"]
    _show_of_event(Reader.linked, event_id, columns, "Linked with", as_json)


@report_command.command()
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M"]),
    help="Only what had a story since then, in UTC.  [default: a day ago]",
)
@json_option
def world(since: datetime | None, as_json: bool) -> None:
    """What broke in several editions, with stories and publishers counted over all of them; the latest first.

    \b
    Example: newsburst report world --since 2026-11-01
    """  # noqa: D301 - \b is click's mark for lines to keep
    columns = ["headline", "editions", "stories", "publishers", "started_at", "last_seen", "event_id"]
    from_then = since.replace(tzinfo=UTC) if since else datetime.now(UTC) - timedelta(days=1)
    _show(Reader.world, (from_then,), columns, "World", as_json)


def _show(query: Callable[..., list[Row]], given: Sequence[Any], columns: list[str], title: str, as_json: bool) -> None:
    reader = Reader(load().postgres)
    try:
        rows = query(reader, *given)
    finally:
        reader.close()
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, columns, title)


def _show_of_event(
    query: Callable[..., list[Row]], event_id: str, columns: list[str], title: str, as_json: bool
) -> None:
    """The same of one event, which there has to be."""

    def of_event(reader: Reader) -> list[Row]:
        rows = query(reader, event_id)
        if not rows and not reader.timeline(event_id):
            raise click.ClickException(
                f"There is no event {event_id}: `newsburst report breaking` lists those that break now."
            )
        return rows

    _show(of_event, (), columns, f"{title} {event_id}", as_json)
