"""`newsburst subscribe`: who is told of events."""

import base64
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, get_args
from urllib.parse import parse_qsl, urlsplit

import click

from pipeline.cli.output import counted, print_json, print_rows
from pipeline.cli.report import Edition
from pipeline.config import load
from pipeline.filters import EventFilter, State
from pipeline.printed import iso
from pipeline.push.messages import SECRET_PREFIX, without_secrets
from pipeline.storage.subscriptions import Subscription, Subscriptions

KINDS = ("webhook", "slack", "mattermost", "telegram", "email")
STATES = get_args(State)
_MAIL = re.compile(r"[^\s<>@,;]+@[^\s<>@,;]+")


@click.group("subscribe")
def subscribe_command() -> None:
    """Say who is told of events: webhooks, chats and mail. `newsburst push` sends.

    \b
    Example: newsburst subscribe add webhook https://example.com/hook --edition en --publishers 20
    """  # noqa: D301 - \b is click's mark for lines to keep


@subscribe_command.command("add")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("target")
@click.option(
    "--edition", type=Edition(), help="Only events of this edition: a language such as en, or a part such as en-sport."
)
@click.option("--publisher", help="Only events that this publisher reported.")
@click.option("--words", help="Only events whose headline has all of these words.")
@click.option(
    "--publishers", type=click.IntRange(min=0), default=0, help="Only events with at least so many publishers."
)
@click.option(
    "--state",
    "states",
    type=click.Choice(STATES),
    multiple=True,
    help="A state to be told, once for each event; give several.  [default: started, reopened, ended]",
)
@click.option("--secret", help="Key that signs what a webhook gets, as whsec_ and base64; made if missing.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object instead of sentences.")
def add(kind: str, target: str, states: tuple[str, ...], secret: str | None, as_json: bool, **wanted: Any) -> None:
    """Have TARGET, a URL or an address of mail, be told of events from now on.

    \b
    Example: newsburst subscribe add slack https://hooks.slack.com/services/T0/B0/X --words ferry
             newsburst subscribe add email desk@example.com --state started
    """  # noqa: D301 - \b is click's mark for lines to keep
    _check(kind, target)
    if kind == "webhook":
        secret = _secret(secret)
    elif secret is not None:
        raise click.UsageError(f"--secret is for webhooks; {kind} has no signature.")
    one = Subscription(
        f"s{secrets.token_hex(4)}", kind, target, secret, states or ("started", "reopened", "ended"), EventFilter(**wanted),
        datetime.now(UTC), None,
    )  # fmt: skip
    with _store() as store:
        store.add(one)
    if as_json:
        print_json({"id": one.id, "secret": secret})
        return
    click.echo(f"{one.id} is told of events from now on, while `newsburst push` runs.")
    if kind == "email" and load().smtp is None:
        click.echo("NEWSBURST_SMTP is not set here; mail is sent by a `newsburst push` that has it.", err=True)
    if secret:
        click.echo(f"Its secret, which proves that a request is ours (https://www.standardwebhooks.com): {secret}")


@subscribe_command.command("list")
@click.option("--json", "as_json", is_flag=True, help="A JSON list instead of a table.")
def list_(as_json: bool) -> None:
    """The subscriptions, and how their deliveries are.

    \b
    Example: newsburst subscribe list
    """  # noqa: D301 - \b is click's mark for lines to keep
    with _store() as store:
        rows = [{**row, "target": without_secrets(row["target"]), "wants": _wants(row)} for row in store.listed()]
    if as_json:
        print_json(rows)
    elif not rows:
        click.echo("No one is told of events: `newsburst subscribe add` changes that.")
    else:
        for row in rows:
            row["problem"] = _problem(row)
        columns = ["id", "kind", "target", "wants", "delivered", "waiting", "last_delivered_at", "problem"]
        print_rows(rows, columns, counted(len(rows), "subscription", "subscriptions"))


@subscribe_command.command("show")
@click.argument("name", metavar="ID")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="So many at most.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list instead of a table.")
def show(name: str, limit: int, as_json: bool) -> None:
    """The last deliveries of a subscription.

    \b
    Example: newsburst subscribe show s1f0a9c33
    """  # noqa: D301 - \b is click's mark for lines to keep
    with _store() as store:
        if name not in {row["id"] for row in store.listed()}:
            raise _unknown(name)
        rows = store.deliveries(name, limit)
    if as_json:
        print_json(rows)
    elif not rows:
        click.echo(f"Nothing was sent to {name} so far.")
    else:
        print_rows(rows, ["changed_at", "status", "state", "attempts", "answer", "event_id"], f"Deliveries to {name}")


@subscribe_command.command("cancel")
@click.argument("name", metavar="ID")
def cancel(name: str) -> None:
    """End a subscription: nothing more is sent to it.

    \b
    Example: newsburst subscribe cancel s1f0a9c33
    """  # noqa: D301 - \b is click's mark for lines to keep
    with _store() as store:
        if not store.cancel(name, datetime.now(UTC)):
            raise _unknown(name)
    click.echo(f"{name} is told nothing more.")


@subscribe_command.command("resume")
@click.argument("name", metavar="ID")
def resume(name: str) -> None:
    """Go on with a subscription that was given up because nothing could be delivered.

    \b
    Example: newsburst subscribe resume s1f0a9c33
    """  # noqa: D301 - \b is click's mark for lines to keep
    with _store() as store:
        if not store.resume(name, datetime.now(UTC)):
            raise click.ClickException(f"No subscription {name} was given up: `newsburst subscribe list` shows them.")
    click.echo(f"{name} is told again what is still true.")


def _wants(row: dict[str, Any]) -> str:
    """What a subscription is told."""
    filters = [f"{name} {row[name]}" for name in ("edition", "publisher", "words") if row[name]]
    filters += [f"{row['publishers']}+ publishers"] if row["publishers"] else []
    return ", ".join([*row["states"], *filters])


def _problem(row: dict[str, Any]) -> str:
    if row["parked_at"]:
        return f"given up: {row['parked_because']}"
    return f"failing since {iso(row['failing_since'])}: {row['last_answer']}" if row["failing_since"] else ""


@contextmanager
def _store() -> Iterator[Subscriptions]:
    store = Subscriptions(load().postgres)
    try:
        yield store
    finally:
        store.close()


def _unknown(name: str) -> click.ClickException:
    return click.ClickException(f"There is no subscription {name}: `newsburst subscribe list` shows them.")


def _check(kind: str, target: str) -> None:
    if kind == "email":
        if not _MAIL.fullmatch(target):
            raise click.UsageError(f"{target!r} is no address of mail: write name@example.com.")
        return
    try:
        parts = urlsplit(target)
        right = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        right = False
    if not right or not target.isprintable() or " " in target:
        raise click.UsageError(f"{target!r} is no URL: it should begin with https:// or http:// and a host.")
    if kind == "telegram" and not dict(parse_qsl(parts.query)).get("chat_id"):
        raise click.UsageError(f"{target!r} has no chat: it should end with ?chat_id=... of who is told.")


def _secret(given: str | None) -> str:
    if given is None:
        return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(24)).decode()
    try:
        if len(base64.b64decode(given.removeprefix(SECRET_PREFIX), validate=True)) >= 16:
            return given
    except ValueError:
        pass
    raise click.UsageError("--secret should be whsec_ and base64 of at least 16 bytes; without it, one is made.")
