"""Rows across versions: a worker takes over what an older one left on the changelogs.

A row says in its header `version` by which shape it was written; without one it is of version 1. New optional fields need no new
version. What else changes does: raise VERSION, and add the step that makes a row of the new version of one of the old, unless
the old ones are good as they are.

Version 2 has rows for revisions of stories, which version 1 would take for stories. Version 3 has rows for stream times and for
the rule, which version 2 would take for stories.
"""

from collections.abc import Callable
from typing import Any

import msgspec

VERSION = 3
"""The version of the rows that this code writes and reads."""
HEADER = "version"

Step = Callable[[str, dict[str, Any]], dict[str, Any]]

STEPS: dict[int, Step] = {}
"""By the version that a step starts from: from a changelog's name and the fields of a row to the fields in the next."""


class NewerRow(RuntimeError):
    """A row of a version that this code does not know; the message says what to do."""


def upgraded(name: str, value: bytes, version: int) -> bytes:
    """The row, as this code writes it. Raises NewerRow."""
    if version > VERSION:
        raise NewerRow(
            f"The changelog {name} holds rows of version {version}; this worker knows versions up to {VERSION}. "
            "Run the newer workers only, or restore the changelogs from before the upgrade."
        )
    steps = [STEPS[old] for old in range(version, VERSION) if old in STEPS]
    if not steps:
        return value
    fields = msgspec.json.decode(value, type=dict[str, Any])
    for step in steps:
        fields = step(name, fields)
    return msgspec.json.encode(fields)
