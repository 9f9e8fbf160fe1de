"""Records as JSON in UTF-8, and what is wrong with bytes that are none, in words for whoever sent them."""

import re
from typing import Any, TypeVar, cast

import msgspec

from pipeline.records import Record, Story

R = TypeVar("R", bound=Record)

KNOWN_FIELDS = frozenset(Story.__struct_fields__)
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


class InvalidRecord(ValueError):
    """Bytes that are not the record they should be; the message says what is wrong in words for people."""


def encode(record: Record) -> bytes:
    """The record as JSON in UTF-8."""
    return msgspec.json.encode(record)


class _Told(msgspec.Struct):
    """Of a story, what a complaint repeats."""

    language: str = ""


def decode(value: bytes | None, kind: type[R]) -> R:
    """The record of class `kind` that `value` holds as JSON.

    Raises InvalidRecord, whose message names the field and what it should be.
    """
    if not value:
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise InvalidRecord(f"The message is empty; it should be {article} {kind.__name__} as a JSON object.")
    try:
        record = msgspec.json.decode(value, type=kind)
        return cast("R", _with_unknown_fields(record, value)) if isinstance(record, Story) else record
    except msgspec.ValidationError as error:
        if kind is Story:
            raise InvalidRecord(_complaint(value, str(error))) from None
        what, _, where = str(error).partition(" - at ")
        field = where.strip("`").removeprefix("$").lstrip(".") or "the message"
        if long := re.search(r"of length <= (\d+)", what):
            what = f"it has more than {int(long[1]):,} characters or entries"
        elif re.search("of length >= 1", what):
            what = "it is empty"
        raise InvalidRecord(f"Wrong {kind.__name__}: {field}: {what}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidRecord(f"Not JSON in UTF-8: {error}.") from None
    except RecursionError:
        raise InvalidRecord("Not readable: the JSON is nested too deeply.") from None


def _with_unknown_fields(story: Story, value: bytes) -> Story:
    """The story with the fields that we do not know in its `extra`."""
    try:
        fields = msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError):  # in what we do not know: the story itself can be read
        return story
    if fields.keys() <= KNOWN_FIELDS:
        return story
    unknown = {name: _value(raw) for name, raw in fields.items() if name not in KNOWN_FIELDS}
    return msgspec.structs.replace(story, extra=unknown | story.extra)


def _value(raw: msgspec.Raw) -> Any:
    """What JSON means; its own text where that is no value here, as 1e999 is none."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return str(raw, "utf-8", "replace")


def _complaint(value: bytes, complaint: str) -> str:
    if complaint.endswith("`$.language`") and "regex" in complaint:
        try:
            said = msgspec.json.decode(value, type=_Told).language[:40]
        except (msgspec.MsgspecError, UnicodeDecodeError):  # it is not even JSON from there on
            said = "language"
        return f"`{said}` is no language tag: use `en` or `pt-BR`."
    return _explain(complaint)


def _explain(complaint: str) -> str:
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
