"""`newsburst report`: the reports in Postgres, a command each."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from pipeline.cli.output import print_csv, print_json, print_rows
from pipeline.codec import InvalidRecord
from pipeline.config import load
from pipeline.filters import EDITION
from pipeline.languages.codes import known_tag
from pipeline.stages.urls import canonical_url
from pipeline.storage.read import Reader, Row
from pipeline.storage.reports import REPORTS, Report

ALIASES = {"breaking": "breaking-now", "timeline": "event-timeline", "linked": "linked-events"}
"""Short names."""
METAVARS = {"event": "ID", "story": "STORY", "query": "WORDS", "family": "PUBLISHER"}
EXAMPLES = {
    "event": "e0f01066d2e38b2dc",
    "story": "https://www.reuters.com/article/1",
    "query": '"ferry capsizes"',
    "family": "reuters",
}
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


class Moment(click.ParamType):
    """A time: of day, or so long ago."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The time that is meant, in UTC where it does not say."""
        if isinstance(value, datetime):
            return value
        try:
            if ago := re.fullmatch(r"(\d{1,6})([mhdw])", value):
                return datetime.now(UTC) - int(ago[1]) * _UNITS[ago[2]]
            moment = datetime.fromisoformat(value)
        except (ValueError, OverflowError):
            self.fail(
                f"{value!r} is no time: write 2026-11-01, 2026-11-01T12:00, or 24h for 24 hours ago (m, h, d, w).",
                param,
                ctx,
            )
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Duration(click.ParamType):
    """A length of time."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """The duration that is meant."""
        if isinstance(value, timedelta):
            return value
        if found := re.fullmatch(r"(\d{1,6})([mhdw])", value):
            return int(found[1]) * _UNITS[found[2]]
        return self.fail(f"{value!r} is no duration: write 15m, 1h or 1d.", param, ctx)


class Edition(click.ParamType):
    """A language, or a part of one."""

    name = "edition"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The edition of its stories."""
        edition = known_tag(str(value))
        if edition is None or not re.fullmatch(EDITION, edition):
            self.fail(f"{value!r} is no edition: write a language, en or pt, or a part of one, en-sport.", param, ctx)
        return edition


OPTIONS: dict[str, dict[str, Any]] = {
    "since": {"type": Moment(), "help": "From then on, in UTC: 2026-11-01, 2026-11-01T12:00, or 24h for 24 hours ago."},
    "until": {"type": Moment(), "help": "Up to then."},
    "state": {"type": click.Choice(["started", "updated", "ended", "reopened"]), "help": "Only events in this state."},
    "step": {"type": Duration(), "help": "Length of a step: 15m, 1h, 1d."},
    "distance": {"type": click.IntRange(0, 7), "help": "Bits in which fingerprints may differ.  [default: 3]"},
    "at_least": {"type": click.IntRange(min=1), "help": "Fewest stories of a cluster that is shown."},
}


class _Reports(click.Group):
    """Knows the short names."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))


@click.group("report", cls=_Reports)
def report_command() -> None:
    """Query the reports in Postgres.

    In SQL, NAME is `news.report_NAME`: docs/reports.md.

    \b
    Example: newsburst report breaking-now
    """  # noqa: D301 - \b is click's mark for lines to keep


def _command(report: Report) -> click.Command:
    example = f" {EXAMPLES[report.argument]}" if report.argument else ""
    parameters: list[click.Parameter] = []
    if report.argument:
        parameters.append(click.Argument([report.argument], metavar=METAVARS[report.argument]))
    parameters += [
        click.Option([f"--{name.replace('_', '-')}"], **OPTIONS[name]) for name in report.options if name in OPTIONS
    ]
    if report.argument != "event" and "editions" not in report.columns:
        parameters.append(
            click.Option(
                ["--edition"],
                type=Edition(),
                help="Only this edition: a language such as en, or a part such as en-sport.",
            )
        )
    parameters += [
        click.Option(["--limit"], type=click.IntRange(min=1), help="So many rows at most."),
        click.Option(["--json", "as_json"], is_flag=True, help="A JSON list instead of a table."),
        click.Option(["--csv", "as_csv"], is_flag=True, help="CSV instead of a table, with all columns."),
    ]

    def run(*, as_json: bool, as_csv: bool, **given: Any) -> None:
        if as_json and as_csv:
            raise click.UsageError("--json and --csv: give one of them.")
        rows = _rows(report, given)
        if as_json:
            print_json(rows)
        elif as_csv:
            print_csv(rows)
        elif not rows:
            click.echo(f"{report.question} Nothing.")
        else:
            print_rows(rows, report.columns, report.question)

    text = f"{report.question}\n\n\b\nExample: newsburst report {report.name}{example}"
    return click.Command(report.name, callback=run, params=parameters, help=text, short_help=report.question)


def _rows(report: Report, given: dict[str, Any]) -> list[Row]:
    """The rows of a report. Raises ClickException where what is asked for is not there."""
    reader = Reader(load().postgres)
    try:
        rows = reader.report(report.name, **given)
        if not rows and report.argument == "story" and (page := _page(given["story"])):
            given["story"] = page
            rows = reader.report(report.name, **given)
        wanted = given.get(report.argument or "")
        if not rows and report.argument == "event" and not reader.report("event-timeline", event=wanted):
            raise click.ClickException(f"There is no event {wanted}: `newsburst report events` lists them.")
        if not rows and report.argument == "story" and not reader.report("story", story=wanted):
            raise click.ClickException(f"There is no story with the id or URL {wanted}.")
        return rows
    finally:
        reader.close()


def _page(url: str) -> str | None:
    """The canonical URL that this one is kept as; None for what is no URL."""
    try:
        return canonical_url(url)
    except InvalidRecord:
        return None


for _report in REPORTS.values():
    report_command.add_command(_command(_report))
