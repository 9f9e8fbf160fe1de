"""What is wrong with a story, in words for whoever sent it."""

import re

EXAMPLE = "2026-11-21T09:30:00Z"
_KINDS = {
    "str": "text in quotes",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "datetime": f"a time in quotes, such as {EXAMPLE}",
}
_OTHERS = (
    (r"Object missing required field `(\w+)`", "The story has no `{1}`."),
    (r".*of length >= 1", "`{field}` is empty."),
    (r".*timezone.*", f"`{{field}}` has no time zone: write it as {EXAMPLE}, or with +01:00 in the place of Z."),
    (r".*(?:RFC3339|`datetime`).*", f"`{{field}}` is no date and time: write it as {EXAMPLE}."),
)
"""What msgspec says, and how people say it."""


def explain(complaint: str) -> str:
    """What msgspec complains of in a story, as one sentence that names the field and what to do."""
    what, _, where = complaint.partition(" - at ")
    field = where.strip("`").removeprefix("$").lstrip(".")
    if wrong := re.fullmatch(r"Expected `([\w |]+)`, got `(\w+)`", what):
        wanted = " or ".join(_KINDS.get(kind, kind) for kind in wrong[1].split(" | ") if kind != "null")
        return f"{f'`{field}`' if field else 'The message'} should be {wanted}, not {_KINDS.get(wrong[2], wrong[2])}."
    if long := re.search(r"of length <= (\d+)", what):
        return f"`{field}` has more than {int(long[1]):,} characters."
    for pattern, words in _OTHERS:
        if found := re.fullmatch(pattern, what):
            return words.format(*(found[0], *found.groups()), field=field)
    return f"`{field}`: {what}." if field else f"{what}."
