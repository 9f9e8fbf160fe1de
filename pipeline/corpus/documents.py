"""Files of documents: what is a record in them, and what is its id and text."""

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

import msgspec

from pipeline.codec import InvalidRecord
from pipeline.lines import MAX_LINE_BYTES, lines

Format = Literal["jsonl", "csv", "tsv", "lines"]
SUFFIXES: dict[str, Format] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv"}
"""What a file's name says of its format; others have a document a line."""
PACKED = frozenset({".gz", ".zst", ".zstd"})
TEXT_FIELDS = (("title", "body"), ("headline", "text"), ("text",), ("content",))
"""Fields that are taken for the text if nobody names any: the first of these that a record has one of."""
ID_FIELDS = ("id", "url")


class Fields(NamedTuple):
    """Which fields of a record are its id and its text; the usual ones if nothing is named."""

    id: str = ""
    text: tuple[str, ...] = ()


class Document(NamedTuple):
    """A record: the id, as JSON, if it has one, and the text; or what is wrong with it."""

    line: int
    """the number of its first line"""
    raw: bytes
    """as it stands in the file"""
    id: bytes = b""
    text: str = ""
    error: str = ""


def format_of(path: str) -> Format:
    """The format that a file's name tells."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    while suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1], "lines") if suffixes else "lines"


def documents(
    path: str,
    form: Format,
    fields: Fields,
    encoding: str = "utf-8",
    passed: int = 0,
    told: Callable[[int], None] | None = None,
) -> Iterator[Document]:
    """The documents of a file in their order; blank lines are none. The first `passed` ones are not looked into.

    `told` is given how many bytes have been read.

    Raises OSError, and InvalidRecord for a file that cannot be unpacked, or has no such fields.
    """
    if form == "csv":
        yield from _rows(path, fields, _Taken(lines(path, told), encoding), passed)
        return
    parse: Callable[[str], tuple[Any, str]] = {
        "jsonl": lambda text: _from_json(text, fields),
        "tsv": _from_columns,
        "lines": lambda text: (None, text),
    }[form]
    count = 0
    for number, raw in lines(path, told):
        if raw is not None and not raw.strip():
            continue
        count += 1
        if count <= passed:
            yield Document(number, raw or b"")
        elif raw is None:
            yield Document(number, b"", error=f"The line has more than {MAX_LINE_BYTES:,} bytes.")
        else:
            try:
                identity, text = parse(raw.rstrip(b"\r\n").decode(encoding))
            except (InvalidRecord, UnicodeDecodeError) as error:
                yield Document(number, raw, error=_wrong(error))
            else:
                yield Document(number, raw, _encoded(identity), text)


def header(path: str, form: Format) -> bytes:
    """The header of a CSV file, as it stands; nothing of others."""
    for _, raw in lines(path) if form == "csv" else ():
        return raw or b""
    return b""


def _encoded(identity: Any) -> bytes:
    return b"" if identity is None else msgspec.json.encode(identity)


def _wrong(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start]
        return f"Not {error.encoding.upper()}: byte 0x{byte:02x} at {error.start}. --encoding says what it is, such as latin-1."
    return str(error)


def _from_json(text: str, fields: Fields) -> tuple[Any, str]:
    try:
        record = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidRecord(f"Not JSON: {error}.") from None
    if not isinstance(record, dict):
        raise InvalidRecord(f"A JSON object is wanted; this is {_kind(record)}.")
    names = fields.text or next((names for names in TEXT_FIELDS if any(name in record for name in names)), ())
    parts = [record.get(name) for name in names]
    if not any(part is not None for part in parts):
        wanted = " or ".join(fields.text) if fields.text else "title, body or text"
        raise InvalidRecord(f"There is no field {wanted}. --text names the fields of the text.")
    for name, part in zip(names, parts, strict=True):
        if part is not None and not isinstance(part, str):
            raise InvalidRecord(f"The field {name} is no text: it is {_kind(part)}.")
    return _identity(record, fields), " ".join(part for part in parts if part)


def _kind(value: Any) -> str:
    return {dict: "an object", list: "an array", str: "a string", bool: "true or false", type(None): "null"}.get(
        type(value), "a number"
    )


def _identity(record: dict[str, Any], fields: Fields) -> Any:
    if fields.id:
        if record.get(fields.id) is None:
            raise InvalidRecord(f"There is no field {fields.id}, which --id names.")
        identity = record[fields.id]
    else:
        identity = next((record[name] for name in ID_FIELDS if record.get(name) is not None), None)
    if isinstance(identity, dict | list):
        raise InvalidRecord(f"The id is no text or number: it is {_kind(identity)}.")
    return identity


def _from_columns(text: str) -> tuple[Any, str]:
    identity, tab, rest = text.partition("\t")
    if not tab:
        raise InvalidRecord("There is no tab in it; a line is the id, a tab, and the text.")
    return identity or None, rest.replace("\t", " ")


def _rows(path: str, fields: Fields, taken: "_Taken", passed: int) -> Iterator[Document]:
    """The rows of a CSV file with a header."""
    csv.field_size_limit(MAX_LINE_BYTES)
    names: Sequence[str] | None = None
    count = 0
    while (row := taken.row()) is not None:
        line, raw, values, error = row
        if names is None:
            if error:
                raise InvalidRecord(f"{path}, line {line}: {error}")
            names = [name.strip() for name in values]
            _check_header(path, names, fields)
            continue
        count += 1
        if count <= passed or error:
            yield Document(line, raw, error="" if count <= passed else error)
            continue
        record: dict[str, Any] = dict(zip(names, values, strict=False))
        if len(values) != len(names):
            yield Document(line, raw, error=f"There are {len(values)} fields; the header has {len(names)}.")
            continue
        try:
            identity, text = _from_json(msgspec.json.encode(record).decode(), fields)
        except InvalidRecord as problem:
            yield Document(line, raw, error=str(problem))
        else:
            yield Document(line, raw, _encoded(identity), text)


def _check_header(path: str, names: Sequence[str], fields: Fields) -> None:
    for name in (*fields.text, *([fields.id] if fields.id else [])):
        if name not in names:
            raise InvalidRecord(f"{path}: there is no column {name}; there are {', '.join(names)}.")
    if not fields.text and not any(name in names for group in TEXT_FIELDS for name in group):
        raise InvalidRecord(
            f"{path}: there is no column title, body or text; there are {', '.join(names)}. --text names those of the text."
        )


class _Taken:
    """The lines of a CSV file, and how many the row took that was read last. Those of a wrong row can be given back."""

    def __init__(self, numbered: Iterator[tuple[int, bytes | None]], encoding: str) -> None:
        self._lines, self._encoding = numbered, encoding
        self._back: list[tuple[int, bytes | None]] = []

    def row(self) -> tuple[int, bytes, list[str], str] | None:
        """The next row: its first line, its bytes, its fields, and what is wrong with it. None at the end."""
        held: list[tuple[int, bytes | None]] = []

        def text() -> Iterator[str]:
            while (line := self._next()) is not None:
                held.append(line)
                if line[1] is None:
                    raise InvalidRecord(f"The line has more than {MAX_LINE_BYTES:,} bytes.")
                yield line[1].decode(self._encoding)

        while True:
            held.clear()
            try:
                values = next(csv.reader(text(), strict=True), None)
            except (csv.Error, UnicodeDecodeError, InvalidRecord) as error:
                self._back = held[1:] + self._back
                return (
                    held[0][0],
                    held[0][1] or b"",
                    [],
                    f"Not CSV: {error}." if isinstance(error, csv.Error) else _wrong(error),
                )
            if values is None:
                return None
            if values:  # a blank line is none
                return held[0][0], b"".join(raw or b"" for _, raw in held), values, ""

    def _next(self) -> tuple[int, bytes | None] | None:
        return self._back.pop(0) if self._back else next(self._lines, None)


def first_bytes_format(begin: bytes) -> Format:
    """The format of what has no name: an object a line, or plain lines."""
    return "jsonl" if begin.lstrip().startswith(b"{") else "lines"
