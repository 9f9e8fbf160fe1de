"""`newsburst amend`: corrections by hand."""

import asyncio
import getpass
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from pipeline.cli.output import counted, print_csv, print_json, print_rows
from pipeline.cli.report import Edition
from pipeline.config import load
from pipeline.kafka.producer import send_amendment
from pipeline.records import Amendment
from pipeline.storage import amendments
from pipeline.storage.read import Reader

WAIT_S = 30.0
"""Seconds that a command waits for a worker to take an amendment in."""
LOOK_S = 0.3
"""Seconds between two looks."""


@click.group("amend")
def amend_command() -> None:
    """Correct clusters and events by hand: move stories, merge and split clusters, dismiss an event, pin its headline.

    \b
    Example: newsburst amend dismiss e4a1c33b0f7d52e90 --reason "a quiz, not news"
    """  # noqa: D301 - \b is click's mark for lines to keep


def _asking(command: Callable[..., None]) -> Callable[..., None]:
    """The options of all commands that amend."""
    by = click.option("--by", default=_user, show_default="your user name", help="Who asks for it; it is kept.")
    reason = click.option("--reason", help="Why; it is kept, too.")
    as_json = click.option("--json", "as_json", is_flag=True, help="A JSON object instead of a sentence.")
    return by(reason(as_json(command)))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as containers have
        return "unknown"


@amend_command.command("move")
@click.argument("stories", nargs=-1, required=True, metavar="STORY...")
@click.option("--to", required=True, metavar="CLUSTER", help="The cluster that they belong to, or an event of it.")
@_asking
def move(stories: tuple[str, ...], to: str, by: str, reason: str | None, as_json: bool) -> None:
    """Move STORIES, by id or URL, to another cluster.

    \b
    Example: newsburst amend move https://news.example/ferry --to e4a1c33b0f7d52e90
    """  # noqa: D301 - \b is click's mark for lines to keep
    _amend(as_json, lambda reader: amendments.of_stories(reader, stories, by, to=to, reason=reason))


@amend_command.command("split")
@click.argument("stories", nargs=-1, required=True, metavar="STORY...")
@click.option("--edition", type=Edition(), help="Their edition, where stories of several have these names.")
@_asking
def split(stories: tuple[str, ...], edition: str | None, by: str, reason: str | None, as_json: bool) -> None:
    """Split STORIES, by id or URL, off into a cluster of their own.

    \b
    Example: newsburst amend split 41890 41907 41911
    """  # noqa: D301 - \b is click's mark for lines to keep
    _amend(as_json, lambda reader: amendments.of_stories(reader, stories, by, edition=edition, reason=reason))


@amend_command.command("merge")
@click.argument("clusters", nargs=-1, required=True, metavar="CLUSTER...")
@_asking
def merge(clusters: tuple[str, ...], by: str, reason: str | None, as_json: bool) -> None:
    """Merge CLUSTERS, each by its id or by an event of it; the oldest one stays.

    \b
    Example: newsburst amend merge c4a1c33b0f7d52e90 c90b1d7a64c2e1f55
    """  # noqa: D301 - \b is click's mark for lines to keep
    if len(clusters) < 2:
        raise click.UsageError("Name two clusters or more.")
    _amend(as_json, lambda reader: amendments.of_clusters(reader, clusters, by, reason=reason))


@amend_command.command("dismiss")
@click.argument("event")
@click.option("--undo", is_flag=True, help="It was dismissed by mistake.")
@_asking
def dismiss(event: str, undo: bool, by: str, reason: str | None, as_json: bool) -> None:
    """Say that EVENT is none: it ends and does not come back, however many stories follow.

    \b
    Example: newsburst amend dismiss e4a1c33b0f7d52e90 --reason "a quiz, not news"
    """  # noqa: D301 - \b is click's mark for lines to keep
    action = "reinstate" if undo else "dismiss"
    _amend(as_json, lambda reader: amendments.of_event(reader, action, event, by, reason=reason))


@amend_command.command("pin")
@click.argument("event")
@click.argument("headline", required=False)
@click.option("--undo", is_flag=True, help="Let the headline be that of the most central story again.")
@_asking
def pin(event: str, headline: str | None, undo: bool, by: str, reason: str | None, as_json: bool) -> None:
    """Give EVENT a HEADLINE, which stays whatever stories come.

    \b
    Example: newsburst amend pin e4a1c33b0f7d52e90 "Ferry with 200 on board adrift off Naxos"
    """  # noqa: D301 - \b is click's mark for lines to keep
    if undo == (headline is not None):
        raise click.UsageError("Give a headline, or --undo.")
    _amend(as_json, lambda reader: amendments.of_event(reader, "pin", event, by, headline=headline, reason=reason))


@amend_command.command("list")
@click.option("--event", metavar="EVENT", help="Only those that touched this event or its cluster.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="So many at most.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list instead of a table.")
def list_(event: str | None, limit: int, as_json: bool) -> None:
    """What was amended, by whom and when, the latest first.

    \b
    Example: newsburst amend list --event e4a1c33b0f7d52e90
    """  # noqa: D301 - \b is click's mark for lines to keep
    with _reader() as reader:
        rows = amendments.amendments(reader, event_id=event, limit=limit)
    if as_json:
        print_json(rows)
    elif not rows:
        click.echo("Nothing was amended.")
    else:
        told = [{**row, "what": _what(row), "reason": row["reason"] or ""} for row in rows]
        print_rows(told, ["amended_at", "amended_by", "what", "reason"], "Amendments")


@amend_command.command("labels")
def labels() -> None:
    """Print the stories of all clusters that were amended as labels, a CSV file for `newsburst fit` and `newsburst evaluate`.

    \b
    Example: newsburst amend labels > labels.csv
    """  # noqa: D301 - \b is click's mark for lines to keep
    with _reader() as reader:
        rows = amendments.labels(reader)
    if not rows:
        raise click.ClickException("No stories were moved and no clusters merged, so that there are no labels.")
    print_csv(rows)


@contextmanager
def _reader() -> Iterator[Reader]:
    reader = Reader(load().postgres)
    try:
        yield reader
    finally:
        reader.close()


def _amend(as_json: bool, ask: Callable[[Reader], Amendment]) -> None:
    """Send an amendment, wait until a worker has taken it in, and say what it changed. Exits with 1 if it was refused."""
    with _reader() as reader:
        try:
            amendment = ask(reader)
        except amendments.CannotAmend as error:
            raise click.ClickException(str(error)) from None
        asyncio.run(send_amendment(load(), amendment))
        found = _outcome(reader, amendment.id)
    if as_json:
        print_json(found or {"id": amendment.id})
    if found is None:
        raise click.ClickException(
            f"Amendment {amendment.id} is on its way, but no worker has taken it in within {WAIT_S:.0f} s. Is one running? "
            "`newsburst amend list` shows it then, or `newsburst dlq list` why not."
        )
    if found["refused"]:
        raise click.ClickException(f"Nothing was changed: {found['refused']}.")
    if not as_json:
        click.echo(f"{_said(found)}.")


def _outcome(reader: Reader, amendment_id: str) -> dict[str, Any] | None:
    deadline = time.monotonic() + WAIT_S
    while (found := amendments.outcome(reader, amendment_id)) is None and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    return found


def _said(found: dict[str, Any]) -> str:
    """What an amendment changed, in words."""
    event, cluster, stories = found["event_id"], found["cluster_id"], counted(len(found["stories"]), "story", "stories")
    return {
        "dismiss": f"Event {event} is dismissed",
        "reinstate": f"Event {event} is reinstated",
        "pin": f"Event {event} has the headline of its most central story"
        if found["headline"] is None
        else f"Event {event} has the headline {found['headline']!r}",
        "split": f"{stories} split off into cluster {cluster}",
        "merge": f"Merged into cluster {cluster}: {', '.join(found['clusters'])}",
        "move": f"{stories} moved to cluster {cluster}"
        if found["stories"]
        else f"Merged into cluster {cluster}, as all was moved: {', '.join(found['clusters'])}",
    }[found["action"]]


def _what(found: dict[str, Any]) -> str:
    """The same, or why nothing was changed."""
    if not found["refused"]:
        return _said(found)
    of = found["event_id"] or ", ".join([*found["stories"][:3], *found["clusters"][:3]])
    return f"{found['action']} {of}: refused, {found['refused']}"
