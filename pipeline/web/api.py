"""The API: events, clusters, stories, publishers and the stream of updates, read only."""

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.params import Depends
from starlette.responses import Response, StreamingResponse

from pipeline.filters import EDITION, EventFilter, State
from pipeline.printed import json_text
from pipeline.storage import browse
from pipeline.storage.read import Row
from pipeline.web.access import may_read
from pipeline.web.answers import CSV, JSON, NDJSON, PROBLEMS, BadRequest, NotFound, key_of, many, one, only_known, page
from pipeline.web.hub import InvalidPosition, Position, parse, written
from pipeline.web.source import Source

MOST_ROWS = 1_000
LONGEST_TEXT = 512
RETRY_MS = 2_000
"""After how long a reader of the stream comes back."""

Text = Annotated[str, Query(max_length=LONGEST_TEXT, pattern=r"^[^\x00]*$")]
Limit = Annotated[int, Query(ge=1, le=MOST_ROWS, description="Rows of a page.")]
After = Annotated[str | None, Query(max_length=2_000, description="The page behind this cursor, from `next`.")]
Edition = Annotated[
    str | None, Query(pattern=EDITION, description="A language, such as en, or a part of it, such as en-sport.")
]
Moment = Annotated[datetime | None, Query(description="A time in ISO 8601; UTC where it does not say.")]
EventId = Annotated[str, Query(max_length=LONGEST_TEXT)]


def source_of(request: Request) -> Source:
    """What this server reads from."""
    source: Source = request.app.state.source
    return source


From = Annotated[Source, Depends(source_of)]


def wanted(
    edition: Edition = None,
    publisher: Annotated[str | None, Query(max_length=LONGEST_TEXT, description="Events that it reported.")] = None,
    words: Annotated[str | None, Query(max_length=LONGEST_TEXT, description="The headline has all of them.")] = None,
    publishers: Annotated[int, Query(ge=0, le=1_000_000, description="Publishers, at least.")] = 0,
    state: State | None = None,
) -> EventFilter:
    """The filter that a request names."""
    for name, text in (("publisher", publisher), ("words", words)):
        if text is not None and "\0" in text:
            raise BadRequest(f"{name} holds the character NUL, which no headline does.")
    return EventFilter(edition=edition, publisher=publisher, words=words, publishers=publishers, state=state)


Wanted = Annotated[EventFilter, Depends(wanted)]
ROWS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Rows: `items` and the address of the `next` page; as CSV or NDJSON by `Accept`.",
        "content": {
            JSON: {
                "schema": {
                    "type": "object",
                    "required": ["items", "next"],
                    "properties": {
                        "items": {"type": "array", "items": {"type": "object"}},
                        "next": {"type": ["string", "null"]},
                    },
                }
            },
            CSV: {"schema": {"type": "string"}},
            NDJSON: {"schema": {"type": "string"}},
        },
    }
}
ONE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The thing.", "content": {JSON: {"schema": {"type": "object"}}}}
}
router = APIRouter(
    prefix="/api", default_response_class=Response, responses=PROBLEMS, dependencies=[Depends(only_known)]
)


@router.get("/events", responses=ROWS, tags=["events"])
def events(
    request: Request,
    source: From,
    chosen: Wanted,
    since: Moment = None,
    until: Moment = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Events by their alerts, the latest first."""
    rows = browse.events(
        source.reader, chosen, limit + 1, since=_utc(since), until=_utc(until), after=key_of(after, datetime)
    )
    return many(request, *page(request, rows, limit, lambda row: (row["started_at"], row["event_id"])))


@router.get(
    "/events/stream",
    tags=["events"],
    responses={
        200: {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
    },
)
def stream(
    source: From,
    chosen: Wanted,
    last_event_id: Annotated[str | None, Header(max_length=200_000, description="Go on behind this position.")] = None,
    since: Annotated[str | None, Query(max_length=200_000, description="The same, for who cannot set headers.")] = None,
) -> Response:
    """Updates of events as server-sent events: `event` is the state, `data` the record, `id` the position behind it."""
    at = _position(source, since)
    if last_event_id is not None:
        with suppress(BadRequest):  # browsers do not come back after an error: they go on from now
            at = _position(source, last_event_id)

    async def lines() -> AsyncIterator[str]:
        position = dict(at or source.hub.position())
        yield f"retry: {RETRY_MS}\n" + (f"id: {written(position)}\n\n" if position else "\n")
        async for told in source.hub.updates(at):
            for update, partition, offset in told:
                position[partition] = offset
                if chosen.matches(update):
                    data = json_text(update)
                    yield f"id: {written(position)}\nevent: {update.state}\ndata: {data}\n\n"
            # without data it is no event, but the client knows how far it is
            yield f"id: {written(position)}\n\n" if told else ": still here\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@router.get("/events/{event_id}", responses=ONE, tags=["events"])
def event(request: Request, source: From, event_id: str) -> Response:
    """An event: its counts, its first and its latest update."""
    return one(request, event_of(source, event_id))


@router.get("/events/{event_id}/stories", responses=ROWS, tags=["events"])
def event_stories(request: Request, source: From, event_id: str, limit: Limit = 100, after: After = None) -> Response:
    """The stories of an event, the first first."""
    event_of(source, event_id)
    rows = browse.event_stories(source.reader, event_id, limit + 1, key_of(after, datetime))
    return many(request, *page(request, rows, limit, lambda row: (row["crawled_at"], row["story_id"])))


@router.get("/events/{event_id}/{report}", responses=ROWS, tags=["events"])
def event_report(
    request: Request,
    source: From,
    event_id: str,
    report: Literal["timeline", "curve", "publishers", "changes", "copies", "related", "linked"],
) -> Response:
    """Of an event: its updates (`timeline`), stories by quarter hour, publishers, changes, copies, related and linked events."""
    event_of(source, event_id)
    names = {"changes": "changes", "copies": "copies", "related": "related-events", "linked": "linked-events"}
    return many(request, source.reader.report(names.get(report, f"event-{report}"), event=event_id))


@router.get("/clusters", responses=ROWS, tags=["clusters"])
def clusters(
    request: Request,
    source: From,
    edition: Edition = None,
    hours: Annotated[float, Query(gt=0, le=96, description="Stories of the last hours of stream time count.")] = 4.0,
    at_least: Annotated[int, Query(ge=1, le=1_000_000, description="Stories that a cluster has, at least.")] = 2,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Clusters of the last hours, the largest first, with the event where one is active."""
    rows = browse.clusters(
        source.reader, limit + 1, edition=edition, span=timedelta(hours=hours), at_least=at_least, after=_size(after)
    )
    return many(request, *page(request, rows, limit, lambda row: (row["stories"], row["cluster_id"])))


@router.get("/clusters/{cluster_id}", responses=ONE, tags=["clusters"])
def cluster(request: Request, source: From, cluster_id: str) -> Response:
    """A cluster."""
    return one(request, _cluster(source, cluster_id))


@router.get("/clusters/{cluster_id}/stories", responses=ROWS, tags=["clusters"])
def cluster_stories(
    request: Request, source: From, cluster_id: str, limit: Limit = 100, after: After = None
) -> Response:
    """The stories of a cluster, the latest first."""
    _cluster(source, cluster_id)
    rows = browse.cluster_stories(source.reader, cluster_id, limit + 1, key_of(after, datetime))
    return many(request, *page(request, rows, limit, lambda row: (row["crawled_at"], row["story_id"])))


@router.get("/stories", responses=ROWS, tags=["stories"])
def stories(request: Request, source: From, id: Text) -> Response:  # noqa: A002 - the name in the address
    """The stories with this id or URL, with cluster, events and copies: one for each edition and each time it was sent anew."""
    rows = source.reader.report("story", story=id)
    if not rows:
        raise NotFound(f"There is no story with the id or URL {id!r}.")
    return many(request, rows)


@router.get("/stories/similar", responses=ROWS, tags=["stories"])
def similar(
    request: Request,
    source: From,
    id: Text,  # noqa: A002 - the name in the address
    distance: Annotated[int, Query(ge=0, le=7, description="Bits in which fingerprints may differ.")] = 3,
    limit: Limit = 100,
) -> Response:
    """Stories of the whole archive whose headlines are alike, by their fingerprints; `id` is an id, a URL or a fingerprint."""
    rows = source.reader.report("similar-stories", story=id, distance=distance, limit=limit)
    if not rows and not source.reader.report("story", story=id):
        raise NotFound(f"There is no story with the id or URL {id!r}.")
    return many(request, rows)


@router.get("/search", responses=ROWS, tags=["stories"])
def search(
    request: Request, source: From, q: Text, edition: Edition = None, since: Moment = None, limit: Limit = 20
) -> Response:
    """Events, clusters and stories whose headlines match; << >> mark the words."""
    return many(request, source.reader.report("search", query=q, edition=edition, since=_utc(since), limit=limit))


@router.get("/publishers", responses=ROWS, tags=["publishers"])
def publishers(
    request: Request,
    source: From,
    edition: Edition = None,
    since: Moment = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Publishers with stories, copies and events since then, or in the last 7 days of stream time; the most stories first."""
    begin = _utc(since) or _week_before(source.now(edition))
    rows = sorted(source.report("publishers", 30.0, since=begin, edition=edition), key=_by_stories)
    key = _size(after)
    if key is not None:
        rows = [row for row in rows if _by_stories(row) > (-key[0], key[1])]
    return many(request, *page(request, rows, limit, lambda row: (row["stories"], f"{row['family']} {row['edition']}")))


@router.get(
    "/health",
    tags=["health"],
    responses={
        200: {"description": "It works.", "content": {JSON: {"schema": {"type": "object"}}}},
        503: {"description": "It does not."},
    },
)
async def health(request: Request, source: From) -> Response:
    """Whether this server reaches Postgres and follows Kafka, and how far the stream is; details only to who may read."""
    missing, editions = await source.health()
    body: dict[str, Any] = {"ready": not missing}
    if may_read(request.headers.get("authorization", ""), source.settings.token()):
        body |= {"missing": missing, "version": request.app.version, "editions": editions}
    return Response(json_text(body), 503 if missing else 200, media_type=JSON)


def _by_stories(publisher: Row) -> tuple[int, str]:
    return -publisher["stories"], f"{publisher['family']} {publisher['edition']}"


def event_of(source: Source, event_id: str) -> Row:
    """The event with this id. Raises NotFound."""
    found = browse.event(source.reader, checked(event_id))
    if found is None:
        raise NotFound(f"There is no event {event_id!r}.")
    return found


def _cluster(source: Source, cluster_id: str) -> Row:
    found = browse.cluster(source.reader, checked(cluster_id))
    if found is None:
        raise NotFound(f"There is no cluster {cluster_id!r}.")
    return found


def checked(name: str) -> str:
    """A name that Postgres can be asked for. Raises NotFound for what none can be."""
    if "\0" in name:
        raise NotFound("No name holds the character NUL.")
    return name


def _position(source: Source, text: str | None) -> Position | None:
    try:
        found = parse(text) if text else None
    except InvalidPosition as error:
        raise BadRequest(str(error)) from None
    known = source.hub.position()
    if found and known and (strange := found.keys() - known.keys()):
        raise BadRequest(f"{text!r} is no position of this stream: it has no partition {min(strange)}.")
    return found


def _size(cursor: str | None) -> tuple[int, str] | None:
    key: tuple[int, str] | None = key_of(cursor, int)
    return key


def _utc(moment: datetime | None) -> datetime | None:
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)


def _week_before(now: datetime | None) -> datetime:
    return (now or datetime.now(UTC)).replace(minute=0, second=0, microsecond=0) - timedelta(days=7)
