"""How the commands print: tables for people, JSON for programs. What comes from elsewhere is shown as text, never obeyed."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.printed import csv_text, json_text, shown

FILE = click.Path(exists=True, dir_okay=False)
STORIES = click.Path(exists=True, dir_okay=False, allow_dash=True)
"""A file of stories; `-` is the standard input."""

console = Console(highlight=False, markup=False, emoji=False)

UNWRAPPED_WIDTH = 10_000
"""Columns of what is no terminal."""
PADDING = 3
"""Columns that a table's cell needs beside its text."""


def counted(number: int, one: str, many: str) -> str:
    """A number with what it counts: `1 line`, `2,000 lines`."""
    return f"{number:,} {one if number == 1 else many}"


def print_json(value: Any) -> None:
    """A value as one line of JSON, whose strings hold nothing that a terminal obeys."""
    click.echo(json_text(value))


def print_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows as CSV with a header."""
    click.echo(csv_text(rows), nl=False)


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], title: str) -> None:
    """Rows as a table with these columns; one under the other where the terminal is too narrow for a table of whole words."""
    cells = [[cell(row[column]) for column in columns] for row in rows]
    names = [column.replace("_", " ") for column in columns]
    widest = [
        max([_longest_word(name), *(_least_width(line[index], rows[0][columns[index]]) for line in cells)])
        for index, name in enumerate(names)
    ]
    width = console.width if console.is_terminal or "COLUMNS" in os.environ else UNWRAPPED_WIDTH
    if sum(widest) + PADDING * len(columns) + 1 > width:
        _print_blocks(cells, names, title)
        return
    natural = [max(Text(text).cell_len for text in column) for column in zip(names, *cells, strict=True)]
    fitting = width - PADDING * len(columns) - 1
    table = Table(title=Text(title), title_justify="left", header_style="bold", expand=False)
    for index, (name, fitted) in enumerate(zip(names, _fitted(natural, widest, fitting), strict=True)):
        number = bool(rows) and isinstance(rows[0][columns[index]], int | float)
        table.add_column(name, justify="right" if number else "left", width=fitted)
    for line in cells:
        table.add_row(*map(Text, line))
    shown_in = max(width, sum(natural) + PADDING * len(columns) + 1)
    Console(file=console.file, width=shown_in, highlight=False, markup=False, emoji=False).print(table)


def _fitted(natural: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """The widths of columns that together take up `width` at most: the widest give way first, each down to its least."""
    widths = list(natural)
    while sum(widths) > width:
        index = max(range(len(widths)), key=lambda index: (widths[index] > least[index], widths[index]))
        if widths[index] <= least[index]:
            break
        widths[index] -= 1
    return widths


def _print_blocks(cells: Sequence[Sequence[str]], names: Sequence[str], title: str) -> None:
    console.print(Text(title, style="italic"), soft_wrap=True)
    margin = max(map(len, names)) + 2
    for line in cells:
        console.print()
        for name, text in zip(names, line, strict=True):
            console.print(Text(f"{name:<{margin}}", style="bold") + Text(text), soft_wrap=True)


def _longest_word(text: str) -> int:
    return max((Text(word).cell_len for word in text.split()), default=0)


def _least_width(text: str, value: Any) -> int:
    """Columns that a cell needs: dates are not broken, texts between words."""
    return len(text) if isinstance(value, datetime) else _longest_word(text)


def cell(value: Any) -> str:
    """A value as it stands in a table. Times are in UTC."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC) if value.tzinfo else value:%Y-%m-%d %H:%M:%S}Z"
    if isinstance(value, list):
        return ", ".join(map(cell, value))
    return shown(str(value))
