"""What comes from elsewhere, printed: on terminals, on pages, in CSV and JSON. It is shown as text, never obeyed."""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

_HARMLESS = frozenset("\u200c\u200d")
"""Joiners, without which Persian, Indic scripts and many pictures are not written right."""
_PLAIN = re.compile(r"[ -~]*")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How cells begin that a spreadsheet computes (https://owasp.org/www-community/attacks/CSV_Injection)."""


def shown(text: str, keep: str = "") -> str:
    r"""Text that is safe to print: what moves the cursor, colours, or turns the direction of writing is spelled out as `\x1b`.

    Characters of `keep` stay as they are.
    """
    if _PLAIN.fullmatch(text):
        return text
    return "".join(_spelled(sign) if _is_obeyed(sign) and sign not in keep else sign for sign in text)


def _is_obeyed(sign: str) -> bool:
    """Whether a terminal does something at this character, or nobody sees it."""
    if unicodedata.category(sign) == "Cn":
        return (
            ord(sign) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(sign) <= 0xFDEF
        )  # no characters, and XML does not hold them
    return unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and sign not in _HARMLESS


def _spelled(sign: str) -> str:
    return sign.encode("ascii", "backslashreplace").decode() if ord(sign) > 127 else f"\\x{ord(sign):02x}"


def json_text(value: Any) -> str:
    """A value as one line of JSON, whose strings hold nothing that a terminal obeys."""
    plain = msgspec.json.encode(value).decode()
    if _PLAIN.fullmatch(plain):
        return plain
    return "".join(json.dumps(sign)[1:-1] if _is_obeyed(sign) else sign for sign in plain)


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV with a header: times in ISO 8601 and UTC; lists, objects and booleans as JSON; nothing for what is missing.

    Text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if rows:
        writer.writerow(rows[0])
    writer.writerows([_csv_cell(value) for value in row.values()] for row in rows)
    return shown(text.getvalue(), keep="\n")


def _csv_cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, list | dict | bool):
        return msgspec.json.encode(value).decode()
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def iso(moment: datetime) -> str:
    """A time in ISO 8601, in UTC."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
