"""Feeds of breaking events: Atom (RFC 4287) and JSON Feed 1.1, of all events or of those that a filter chooses.

An entry's id is that of the event, for ever; `updated` moves on with the event, so that a reader shows it once.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode
from xml.etree import ElementTree as ET

import msgspec
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from pipeline.filters import EventFilter
from pipeline.languages.codes import language_of
from pipeline.printed import iso, shown
from pipeline.storage import browse
from pipeline.storage.read import Row
from pipeline.web import phrases
from pipeline.web.answers import PROBLEMS, only_known, tagged
from pipeline.web.api import From, Wanted
from pipeline.web.source import Source

ENTRIES = 50
ATOM = "http://www.w3.org/2005/Atom"
NO_EVENT_YET = datetime(1970, 1, 1, tzinfo=UTC)
router = APIRouter(
    prefix="/feeds",
    tags=["feeds"],
    default_response_class=Response,
    responses=PROBLEMS,
    dependencies=[Depends(only_known)],
)


@router.get(
    "/atom.xml",
    responses={
        200: {"description": "An Atom feed.", "content": {"application/atom+xml": {"schema": {"type": "string"}}}}
    },
)
def atom(request: Request, source: From, chosen: Wanted) -> Response:
    """Breaking events as an Atom feed."""
    base, rows = base_url(request, source), browse.events(source.reader, chosen, ENTRIES)
    here = f"{base}{request.url.path}" + (f"?{request.url.query}" if request.url.query else "")
    feed = ET.Element("feed", {"xmlns": ATOM})
    _add(feed, "id", f"urn:newsburst:events?{query(chosen)}")
    _add(feed, "title", title(chosen))
    _add(feed, "updated", iso(max((row["updated_at"] for row in rows), default=NO_EVENT_YET)))
    _add(feed, "link", rel="self", type="application/atom+xml", href=here)
    _add(feed, "link", rel="alternate", type="text/html", href=f"{base}/")
    _add(_add(feed, "author"), "name", "Newsburst")
    _add(feed, "generator", "Newsburst")
    for row in rows:
        entry = _add(feed, "entry")
        _add(entry, "id", f"urn:newsburst:event:{quote(row['event_id'], safe='')}")
        _add(entry, "title", _plain(row["headline"]) or "(no headline)", type="text")
        _add(entry, "published", iso(row["started_at"]))
        _add(entry, "updated", iso(row["updated_at"]))
        _add(entry, "link", rel="alternate", type="text/html", href=address(base, row["event_id"]))
        _add(entry, "category", term=row["state"])
        _add(entry, "summary", summary(row), type="text")
    body = ET.tostring(feed, encoding="utf-8", xml_declaration=True)
    return tagged(request, body, "application/atom+xml; charset=utf-8")


@router.get(
    "/feed.json",
    responses={
        200: {"description": "A JSON Feed.", "content": {"application/feed+json": {"schema": {"type": "object"}}}}
    },
)
def json_feed(request: Request, source: From, chosen: Wanted) -> Response:
    """Breaking events as a JSON Feed."""
    base, rows = base_url(request, source), browse.events(source.reader, chosen, ENTRIES)
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": title(chosen),
        "home_page_url": f"{base}/",
        "feed_url": f"{base}{request.url.path}" + (f"?{request.url.query}" if request.url.query else ""),
        "authors": [{"name": "Newsburst"}],
        "items": [_item(base, row) for row in rows],
    }
    return tagged(request, msgspec.json.encode(feed), "application/feed+json")


def base_url(request: Request, source: Source) -> str:
    """Where readers find this server: as the settings say, or as they asked."""
    return source.settings.web_url or str(request.base_url).rstrip("/")


def address(base: str, event_id: str) -> str:
    """The page of an event."""
    return f"{base}/events/{quote(event_id, safe='')}"


def title(chosen: EventFilter) -> str:
    """What a feed is called."""
    filters = ", ".join(f"{name} {value}" for name, value in msgspec.structs.asdict(chosen).items() if value)
    return shown(f"Breaking events: {filters}" if filters else "Breaking events")


def summary(row: Mapping[str, Any]) -> str:
    """An event in a sentence."""
    words = {"ended": "Ended", "reopened": "Broke again"}.get(row["state"], "Breaking")
    if row["dismissed"]:
        words = "Dismissed by an editor: it is no event"
    counts = phrases.stories(row["stories"])
    if row["publishers"] is not None:
        counts += f" from {phrases.counted(row['publishers'], 'publisher')}"
    return f"{words}: {counts} in {phrases.duration(row['last_seen'] - row['first_seen'])}."


def _item(base: str, row: Row) -> dict[str, Any]:
    return {
        "id": row["event_id"],
        "url": address(base, row["event_id"]),
        "title": _plain(row["headline"]) or "(no headline)",
        "content_text": summary(row),
        "date_published": iso(row["started_at"]),
        "date_modified": iso(row["updated_at"]),
        "language": language_of(row["edition"]),
        "tags": [row["state"]],
        "_newsburst": {name: row[name] for name in ("state", "sequence", "stories", "publishers")},
    }


def _plain(text: str) -> str:
    """Text without what XML cannot hold, and without what turns the direction of writing."""
    return shown(text).strip()


def _add(parent: ET.Element, name: str, text: str | None = None, **attributes: str) -> ET.Element:
    made = ET.SubElement(parent, name, attributes)
    made.text = text
    return made


def query(chosen: EventFilter) -> str:
    """A filter as a query string."""
    return urlencode({name: value for name, value in msgspec.structs.asdict(chosen).items() if value})
