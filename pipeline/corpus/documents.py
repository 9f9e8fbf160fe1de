"""Documents: the id and the text in a record."""

import csv
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from pipeline.codec import InvalidRecord
from pipeline.corpus.records import Record, Source, decoding_error, header

TEXT_FIELDS = (("title", "body"), ("headline", "text"), ("text",), ("content",))
"""Fields that are taken for the text if nobody names any: the first of these that a record has one of."""
ID_FIELDS = ("id", "url")


class Fields(NamedTuple):
    """Which fields of a record are its id and its text; the usual ones if nothing is named."""

    id: str = ""
    text: tuple[str, ...] = ()


Document = tuple[bytes, str]
"""The id as JSON, nothing if there is none; and the text."""


def parser(source: Source, fields: Fields) -> Callable[[Record], Document]:
    """What reads the document in a record of this file. It raises InvalidRecord, with what is wrong with the record.

    Raises InvalidRecord for a CSV file without the columns that are asked for.
    """
    if source.format == "jsonl":
        return _checked(source.encoding, _json_parser(fields))
    if source.format == "csv":
        return _checked(source.encoding, _csv_parser(source, fields))
    if source.format == "tsv":
        return _checked(source.encoding, _from_columns)
    return _checked(source.encoding, lambda text: (b"", text))


def _checked(encoding: str, parse: Callable[[str], Document]) -> Callable[[Record], Document]:
    def read(record: Record) -> Document:
        if record.error:
            raise InvalidRecord(record.error)
        try:
            return parse(record.raw.decode(encoding))
        except UnicodeDecodeError as error:
            raise InvalidRecord(decoding_error(error)) from None

    return read


def _json_parser(fields: Fields) -> Callable[[str], Document]:
    decode, of = msgspec.json.Decoder().decode, _fields_parser(fields)

    def parse(text: str) -> Document:
        try:
            record = decode(text)
        except msgspec.DecodeError as error:
            raise InvalidRecord(f"Not JSON: {error}.") from None
        if not isinstance(record, dict):
            raise InvalidRecord(f"A JSON object is wanted; this is {_kind(record)}.")
        return of(record)

    return parse


def _csv_parser(source: Source, fields: Fields) -> Callable[[str], Document]:
    names = [name.strip() for name in next(csv.reader([*header(source).decode(source.encoding).splitlines()]), [])]
    for name in (*fields.text, *([fields.id] if fields.id else [])):
        if name not in names:
            raise InvalidRecord(f"{source.path}: there is no column {name}; there are {', '.join(names)}.")
    if names and not fields.text and not any(name in names for group in TEXT_FIELDS for name in group):
        raise InvalidRecord(
            f"{source.path}: there is no column title, body or text; there are {', '.join(names)}. --text names them."
        )
    of = _fields_parser(fields)

    def parse(text: str) -> Document:
        try:
            (values,) = csv.reader([text], strict=True)
        except (csv.Error, ValueError) as error:
            raise InvalidRecord(f"Not CSV: {error}.") from None
        if len(values) != len(names):
            raise InvalidRecord(f"There are {len(values)} fields; the header has {len(names)}.")
        return of(dict(zip(names, values, strict=True)))

    return parse


def _from_columns(text: str) -> Document:
    identity, tab, rest = text.rstrip("\r\n").partition("\t")
    if not tab:
        raise InvalidRecord("There is no tab in it; a line is an id, a tab, and the text.")
    return msgspec.json.encode(identity) if identity else b"", rest.replace("\t", " ")


def _fields_parser(fields: Fields) -> Callable[[dict[str, Any]], Document]:
    groups = (fields.text,) if fields.text else TEXT_FIELDS
    ids = (fields.id,) if fields.id else ID_FIELDS
    encode = msgspec.json.Encoder().encode

    def of(record: dict[str, Any]) -> Document:
        for names in groups:
            parts = [part for name in names if (part := record.get(name)) is not None]
            if parts:
                break
        else:
            wanted = " or ".join(fields.text) if fields.text else "title, body or text"
            raise InvalidRecord(f"There is no field {wanted}. --text names the fields of the text.")
        try:
            text = " ".join(parts)
        except TypeError:
            wrong = next(part for part in parts if not isinstance(part, str))
            raise InvalidRecord(f"The text is no string: it is {_kind(wrong)}.") from None
        for name in ids:
            if (identity := record.get(name)) is not None:
                if isinstance(identity, dict | list):
                    raise InvalidRecord(f"The id is no string or number: it is {_kind(identity)}.")
                return encode(identity), text
        if fields.id:
            raise InvalidRecord(f"There is no field {fields.id}, which --id names.")
        return b"", text

    return of


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
