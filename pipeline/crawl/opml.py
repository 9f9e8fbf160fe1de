"""Lists of feeds: OPML, as feed readers write it."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET


class InvalidList(ValueError):
    """A file is no OPML; the message says what is wrong with it."""


class Source(NamedTuple):
    """A feed to be crawled."""

    url: str
    publisher: str | None = None
    """whose it is; the feed's own title if missing"""
    language: str | None = None


def read(path: Path) -> list[Source]:
    """The feeds of an OPML file, each once. Raises InvalidList."""
    try:
        body = path.read_bytes()
    except OSError as error:
        raise InvalidList(f"{path}: {error.strerror}.") from None
    if b"<!ENTITY" in body:
        raise InvalidList(f"{path}: it defines entities, which no list of feeds needs.")
    try:
        root = ET.fromstring(body)  # noqa: S314 - without entities there is nothing to expand
    except (ET.ParseError, ValueError, LookupError) as error:  # the last for encodings that nobody knows
        raise InvalidList(f"{path}: {error}") from None
    found = {source.url: source for source in _sources(root)}
    if not found:
        raise InvalidList(f"{path}: it names no feed: an <outline> with an attribute xmlUrl.")
    return [*found.values()]


def _sources(root: ET.Element) -> Iterator[Source]:
    for outline in root.iter("outline"):
        url = outline.get("xmlUrl", "").strip()
        if url:
            yield Source(url, outline.get("title") or outline.get("text"), outline.get("language"))
