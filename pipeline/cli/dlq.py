"""`newsburst dlq`: look at dead letters, and send them again."""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click

from pipeline.cli.output import cell, print_json, print_rows
from pipeline.config import Settings, load
from pipeline.kafka.dead_letters import MAX_REQUEUES, Letter, kind, letters, requeue, unsendable
from pipeline.printed import shown

Command = Callable[..., None]
LAYOUT = "\n\t"
"""What may lay out a message that is shown whole."""


def _selection(command: Command) -> Command:
    """The options that choose letters."""
    time = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"])
    for option in (
        click.option("--until", type=time, help="Only what failed before this time, UTC."),
        click.option("--since", type=time, help="Only what failed at this time or later, UTC."),
        click.option("--reason", metavar="TEXT", help="Only those whose reason contains TEXT."),
        click.option("--stage", metavar="STAGE", help="Only those of this stage."),
    ):
        command = option(command)
    return command


@click.group("dlq")
def dlq_command() -> None:
    """Look at dead letters, the messages that a stage could not process, and send them again.

    \b
    Example: newsburst dlq list --by-reason
    """  # noqa: D301 - \b is click's mark for lines to keep


@dlq_command.command("list")
@_selection
@click.option("--done", is_flag=True, help="Those that have been sent again, too.")
@click.option("--by-reason", is_flag=True, help="Count them by stage and reason.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list instead of a table.")
def list_(done: bool, by_reason: bool, as_json: bool, **chosen: Any) -> None:
    """The letters, by name.

    \b
    Example: newsburst dlq list --stage normalise --since 2026-01-31
    """  # noqa: D301 - \b is click's mark for lines to keep
    found = [letter for letter in asyncio.run(_choose(load(), **chosen)) if done or not letter.done]
    if by_reason:
        counts = Counter((letter.why.stage, kind(letter.why.error)) for letter in found)
        rows = [{"letters": n, "stage": stage, "reason": reason} for (stage, reason), n in counts.most_common()]
        columns = ["letters", "stage", "reason"]
    else:
        rows = [_row(letter) for letter in found]
        columns = ["name", "failed_at", "stage", "reason", "requeued"]
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, columns, f"{len(found)} dead letters")


@dlq_command.command()
@click.argument("name", metavar="NAME")
@click.option("--raw", is_flag=True, help="Only the message, as it came.")
def show(name: str, raw: bool) -> None:
    """One letter: why it is one, and the message as it came.

    \b
    Example: newsburst dlq show stories:0:12
    """  # noqa: D301 - \b is click's mark for lines to keep
    (letter,) = _named(asyncio.run(_choose(load())), [name])
    if raw:
        click.get_binary_stream("stdout").write(letter.value or b"")
        return
    about = {
        **_row(letter),
        "topic": letter.why.topic,
        "partition": letter.why.partition,
        "offset": letter.why.offset,
        "received_at": letter.why.received_at,
        "key": _text(letter.key),
        **{f"header {name}": _text(value) for name, value in letter.headers},
    }
    for field, value in about.items():
        click.echo(f"{shown(field.replace('_', ' '))}: {cell(value)}")
    click.echo(f"\n{shown(_text(letter.value), keep=LAYOUT)}")


@dlq_command.command("requeue")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@_selection
@click.option("--all", "everything", is_flag=True, help="All letters that have not been sent again.")
@click.option("--dry-run", is_flag=True, help="Only say which.")
def requeue_(names: tuple[str, ...], everything: bool, dry_run: bool, **chosen: Any) -> None:
    """Send messages again to the topics that they were read from: those named, those chosen by options, or all.

    What has been sent again already, or three times before, is sent only if it is named.

    \b
    Example: newsburst dlq requeue --reason "is before 1990"
    """  # noqa: D301 - \b is click's mark for lines to keep
    by_option = {name: value for name, value in chosen.items() if value is not None}
    if not (names or by_option or everything) or (names and (by_option or everything)):
        raise click.UsageError("Name letters, or choose them by options, or give --all.")
    settings = load()
    found = asyncio.run(_choose(settings, **chosen))
    if names:
        wanted = _named(found, names)
    else:
        fresh = [letter for letter in found if not letter.done]
        wanted = [letter for letter in fresh if letter.requeued < MAX_REQUEUES and not unsendable(settings, letter)]
        if held := sum(letter.requeued >= MAX_REQUEUES for letter in fresh):
            click.echo(
                f"Left, for they have failed {MAX_REQUEUES} times again: {held}. Name them to send them.", err=True
            )
        for letter in fresh:
            if why := unsendable(settings, letter):
                click.echo(shown(f"{letter.name} is left: {why}"), err=True)
    if dry_run:
        for letter in wanted:
            click.echo(shown(f"{letter.name}  {letter.why.error}"))
        click.echo(f"{len(wanted)} messages would be sent again.")
        return
    click.echo(f"{asyncio.run(requeue(settings, wanted))} messages sent again.")


async def _choose(
    settings: Settings,
    stage: str | None = None,
    reason: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Letter]:
    return sorted(
        [
            letter
            async for letter in letters(settings)
            if (stage is None or letter.why.stage == stage)
            and (reason is None or reason.lower() in letter.why.error.lower())
            and (since is None or letter.at >= since.replace(tzinfo=UTC))
            and (until is None or letter.at < until.replace(tzinfo=UTC))
        ],
        key=lambda letter: letter.at,
    )


def _named(found: list[Letter], names: list[str] | tuple[str, ...]) -> list[Letter]:
    by_name = {letter.name: letter for letter in found}
    for name in names:
        if name not in by_name:
            raise click.ClickException(f"No dead letter is named {name!r}: `newsburst dlq list --done` names them all.")
    return [by_name[name] for name in names]


def _row(letter: Letter) -> dict[str, Any]:
    return {
        "name": letter.name,
        "failed_at": letter.at,
        "stage": letter.why.stage,
        "reason": letter.why.error,
        "requeued": letter.requeued + letter.done,
    }


def _text(value: bytes | None) -> str:
    """Bytes for people: as text where they are UTF-8, else as Python writes them."""
    if value is None:
        return "(none)"
    try:
        return value.decode()
    except UnicodeDecodeError:
        return repr(value)
