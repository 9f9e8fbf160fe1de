"""How the commands print: tables for people, JSON for programs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

FILE = click.Path(exists=True, dir_okay=False)
STORIES = click.Path(exists=True, dir_okay=False, allow_dash=True)
"""A file of stories; `-` is the standard input."""

console = Console(highlight=False)


def print_json(value: Any) -> None:
    """A value as one line of JSON."""
    click.echo(msgspec.json.encode(value).decode())


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], title: str) -> None:
    """Rows as a table with these columns."""
    table = Table(title=title, title_justify="left", header_style="bold", expand=False)
    for column in columns:
        number = bool(rows) and isinstance(rows[0][column], int | float)
        table.add_column(column.replace("_", " "), justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_text(row[column]) for column in columns))
    console.print(table)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return str(value)
