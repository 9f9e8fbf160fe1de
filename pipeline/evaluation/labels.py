"""Labels: which event each story is about, from a CSV file that was made by hand or from what the source of the stories says.

The columns are `story_id`, `event` and, optionally, `group`. Groups divide events: if it is open whether two reports are about
one happening or about two, they have one event and two groups, and the truth lies between the two levels.
"""

import csv
import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pipeline.codec import InvalidRecord


class Labels(NamedTuple):
    """The event of each labelled story, by its id; and its group, where there are groups."""

    events: Mapping[str, str]
    groups: Mapping[str, str]


def read_labels(path: str) -> Labels:
    """The labels in a CSV file, which may be packed by gzip.

    Raises OSError if the file cannot be read, and InvalidRecord if it is no such CSV file, if it has no labels, if a label is
    empty, if a story has two labels, or if a group is part of two events.
    """
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8-sig", newline="")
            if _is_gzip(path)
            else Path(path).open(encoding="utf-8-sig", newline="") as lines
        ):
            return _labels(path, csv.DictReader(lines))
    except (UnicodeDecodeError, csv.Error, EOFError, zlib.error) as error:
        raise InvalidRecord(f"{path} is no CSV file in UTF-8: {error}.") from None


def _is_gzip(path: str) -> bool:
    with Path(path).open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _labels(path: str, rows: "csv.DictReader[str]") -> Labels:
    columns = rows.fieldnames or ()
    if not {"story_id", "event"} <= set(columns):
        raise InvalidRecord(
            f"{path}: its first line should name the columns story_id, event and, if there are groups, group; it is {columns}."
        )
    names = [name for name in ("story_id", "event", "group") if name in columns]
    events: dict[str, str] = {}
    groups: dict[str, str] = {}
    event_of: dict[str, str] = {}
    for row in rows:
        line = f"{path}, line {rows.line_num}"
        for name in names:
            if not (row[name] or "").strip():
                raise InvalidRecord(f"{line}: `{name}` is empty. Leave out the lines of stories without a label.")
        story, event, group = row["story_id"], row["event"], row.get("group")
        if events.setdefault(story, event) != event:
            raise InvalidRecord(f"{line}: story {story!r} has the event {event!r}; before, it had {events[story]!r}.")
        if group is None:
            continue
        if groups.setdefault(story, group) != group:
            raise InvalidRecord(f"{line}: story {story!r} has the group {group!r}; before, it had {groups[story]!r}.")
        if event_of.setdefault(group, event) != event:
            raise InvalidRecord(
                f"{line}: group {group!r} is part of the event {event!r}; before, it was part of {event_of[group]!r}."
            )
    if not events:
        raise InvalidRecord(f"{path} holds no labels: no line follows the names of the columns.")
    return Labels(events, groups)
