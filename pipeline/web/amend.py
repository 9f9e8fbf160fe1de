"""Corrections by hand from the page of an event; who may make them is for `pipeline.web.access`."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Annotated
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Header, Request
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from pipeline.codec import InvalidRecord
from pipeline.kafka.admin import BrokerError
from pipeline.kafka.producer import send_amendment
from pipeline.records import Amendment
from pipeline.storage import amendments
from pipeline.storage.read import Reader, Row
from pipeline.web.access import name_of
from pipeline.web.api import From, event_of
from pipeline.web.pages import MOST_STORIES, page
from pipeline.web.source import Source

WAIT_S, LOOK_S = 5.0, 0.2
"""How long an answer waits for a worker to take an amendment in, and how often it looks."""
LARGEST_FORM = 1_048_576
"""Bytes."""
SOMEONE = "an editor"
"""Who amends without a name."""
UNNAMED = "Name the other event or cluster first."
router = APIRouter(include_in_schema=False)


@router.get("/events/{event_id}/amend")
def form(request: Request, source: From, event_id: str, authorization: Annotated[str, Header()] = "") -> Response:
    """What can be corrected of an event."""
    return _form(request, source, event_id, name_of(authorization) or SOMEONE, {})


@router.post("/events/{event_id}/amend")
async def amend(
    request: Request, source: From, event_id: str, authorization: Annotated[str, Header()] = ""
) -> Response:
    """Amend, wait a moment for what it brings, and go back to the event."""
    by = name_of(authorization) or SOMEONE
    fields = await _fields(request)
    try:
        amendment = await asyncio.to_thread(_asked, source, event_id, fields, by)
        await send_amendment(source.settings, amendment)
    except (amendments.CannotAmend, InvalidRecord) as error:
        return await asyncio.to_thread(_form, request, source, event_id, by, fields, status=422, said=str(error))
    except BrokerError:
        said = "Kafka does not answer now. The correction may come through yet: look at the event before you ask again."
        return await asyncio.to_thread(_form, request, source, event_id, by, fields, status=503, said=said)
    found = await _outcome(source.reader, amendment.id)
    if found is not None and not found["refused"]:
        return RedirectResponse(f"/events/{quote(event_id, safe='')}#corrections", 303)
    status, said = (
        (202, "It is on its way: no worker has taken it in yet. The page of the event shows it then.")
        if found is None
        else (409, f"Nothing was changed: {found['refused']}.")
    )
    return await asyncio.to_thread(_form, request, source, event_id, by, fields, status=status, said=said)


async def _fields(request: Request) -> dict[str, list[str]]:
    """The fields of a form. Raises HTTPException."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_FORM:
            raise HTTPException(413, f"A form has {LARGEST_FORM:,} bytes at most.")
    try:
        return parse_qs(
            body.decode(), strict_parsing=bool(body), keep_blank_values=True, max_num_fields=2_000, errors="strict"
        )
    except ValueError:
        raise HTTPException(400, "The body should be a form, application/x-www-form-urlencoded in UTF-8.") from None


def _asked(source: Source, event_id: str, fields: dict[str, list[str]], by: str) -> Amendment:
    """The amendment that a form asks for. Raises CannotAmend, InvalidRecord and NotFound."""

    def field(name: str) -> str | None:
        return fields.get(name, [""])[0].strip() or None

    reader = source.reader
    action, reason, other = field("action"), field("reason"), field("other")
    if action in {"dismiss", "reinstate", "unpin"}:
        return amendments.of_event(reader, "pin" if action == "unpin" else action, event_id, by, reason=reason)
    if action == "pin":
        headline = field("headline")
        if headline is None:
            raise amendments.CannotAmend("Write the headline first.")
        return amendments.of_event(reader, "pin", event_id, by, headline=headline, reason=reason)
    if action == "merge":
        if other is None:
            raise amendments.CannotAmend(UNNAMED)
        return amendments.of_clusters(reader, [event_id, other], by, reason=reason)
    if action in {"move", "split"}:
        stories, to = [story for story in fields.get("story", []) if story], field("to")
        if not stories:
            raise amendments.CannotAmend("Choose stories first.")
        if action == "move" and to is None:
            raise amendments.CannotAmend(UNNAMED)
        edition = event_of(source, event_id)["edition"]
        to = to if action == "move" else None
        return amendments.of_stories(reader, stories, by, to=to, edition=edition, reason=reason)
    raise amendments.CannotAmend(
        f"action={action!r}: it should be move, split, merge, dismiss, reinstate, pin or unpin."
    )


async def _outcome(reader: Reader, amendment_id: str) -> Row | None:
    deadline = time.monotonic() + WAIT_S
    while (found := await asyncio.to_thread(amendments.outcome, reader, amendment_id)) is None:
        if time.monotonic() > deadline:
            break
        await asyncio.sleep(LOOK_S)
    return found


def _form(
    request: Request,
    source: Source,
    event_id: str,
    by: str,
    fields: Mapping[str, Sequence[str]],
    *,
    status: int = 200,
    said: str | None = None,
) -> Response:
    """The form; after a fault with what was filled in."""
    event = event_of(source, event_id)
    stories = sorted(source.reader.report("event", event=event_id, limit=MOST_STORIES), key=itemgetter("crawled_at"))
    related = [
        row for row in source.reader.report("related-events", event=event_id) if row["edition"] == event["edition"]
    ]
    return page(
        request,
        "amend.html",
        status=status,
        event=event,
        stories=stories,
        related=related,
        by=by,
        said=said,
        given={name: values[0] for name, values in fields.items()},
        chosen=frozenset(fields.get("story", ())),
        more=max(0, event["stories"] - MOST_STORIES),
        now=event["stream_time"],
    )
