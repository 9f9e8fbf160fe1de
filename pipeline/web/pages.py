"""The pages: what is breaking, events, stories, clusters, publishers, search, and how the pipeline is."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from urllib.parse import quote, urlencode, urlsplit

import jinja2
import msgspec
import structlog
from aiokafka.errors import KafkaError
from fastapi import APIRouter, Query, Request
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from pipeline.kafka.admin import BrokerError
from pipeline.kafka.progress import GroupProgress
from pipeline.printed import iso, shown
from pipeline.storage import amendments, browse
from pipeline.storage.read import Row
from pipeline.web import charts, phrases
from pipeline.web.answers import NotFound, tagged
from pipeline.web.api import Edition, From, Text, Wanted, checked, event_of
from pipeline.web.cards import Cards
from pipeline.web.hub import InvalidPosition, parse, written
from pipeline.web.source import Source

MOST_EVENTS = 100
MOST_STORIES = 300
"""Stories on the page of an event or cluster; the API has all."""
MOST_PUBLISHERS = 14
MOST_AMENDMENTS = 50
MOST_EMERGING = 8
QUIET_AFTER = timedelta(minutes=10)
ARCHIVE_AFTER = timedelta(days=2)
GATHER_S = 0.2
"""Changes within this time come to an open page at once."""
LONGEST_TITLE = 200
"""Characters of a headline in a list."""
log = structlog.get_logger()
NAVIGATION = (
    ("/", "Breaking"),
    ("/clusters", "Clusters"),
    ("/publishers", "Publishers"),
    ("/search", "Search"),
    ("/pipeline", "Pipeline"),
)
router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


def environment() -> jinja2.Environment:
    """The templates. What comes from elsewhere stands in them as text: escaped, and with what cannot be seen spelled out."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("pipeline.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: shown(value, keep="\n") if type(value) is str else value,
    )
    made.globals.update(charts=charts, phrases=phrases, navigation=NAVIGATION, quarters=browse.QUARTERS)
    made.filters.update(
        duration=phrases.duration,
        link=_link,
        path=lambda text: quote(text, safe=""),
        headline=_headline,
        found=_found,
        time=_time,
        volume_bar=lambda row: (row["at"], row["stories"], row["usual"]),
        query=urlencode,
    )
    return made


def _link(url: str) -> str:
    """An address to link to: of the web, or nowhere."""
    try:
        return url if urlsplit(url).scheme in {"http", "https"} else "#"
    except ValueError:
        return "#"


def _headline(text: str | None) -> Markup:
    text = shown(text or "(no headline)")
    return Markup("<bdi>{}</bdi>").format(text if len(text) <= LONGEST_TITLE else f"{text[:LONGEST_TITLE]}…")


def _found(text: str) -> Markup:
    """A headline with the words that were found, between << and >>, marked."""
    marked = escape(shown(text)[: 2 * LONGEST_TITLE])
    marked = marked.replace(escape("<<"), Markup("<mark>")).replace(escape(">>"), Markup("</mark>"))
    return Markup("<bdi>{}</bdi>").format(marked)


def _time(moment: datetime, now: datetime | None = None) -> Markup:
    return Markup('<time datetime="{}">{}</time>').format(iso(moment), phrases.clock(moment, now))


def draw_card(templates: jinja2.Environment, row: Row) -> str:
    """The card of an event."""
    return templates.get_template("card.html").render(event=row)


def _card(request: Request, row: Row) -> Markup | None:
    """A card; None where a record holds what none can be drawn of."""
    try:
        return Markup(draw_card(request.app.state.templates, row))  # noqa: S704 - the template escapes what is not ours
    except Exception:
        log.exception("card not drawn", event_id=row["event_id"])
        return None


def page(request: Request, name: str, *, status: int = 200, **given: Any) -> Response:
    """A page drawn from its template; one that is as the browser has it is not sent again."""
    source: Source = request.app.state.source
    templates: jinja2.Environment = request.app.state.templates
    body = templates.get_template(name).render(
        here=request.url.path, pulse=_pulse(source), position=given.pop("position", None), **given
    )
    if status != 200:
        return HTMLResponse(body, status)
    return tagged(request, body.encode(), "text/html; charset=utf-8")


def _pulse(source: Source) -> Mapping[str, Any]:
    """How the stream is, in the head of every page."""
    rows = source.report("pipeline-health", 10.0)
    if not rows:
        return {"kind": "waiting", "words": "no stories yet"}
    now = max(row["stream_time"] for row in rows)
    quiet = timedelta(seconds=min(row["quiet_seconds"] for row in rows))
    current = [row for row in rows if row["stream_time"] > now - timedelta(hours=1)]
    stories = phrases.stories(sum(row["stories_last_hour"] for row in current))
    said = f"stream time {phrases.clock(now)} UTC · {stories} in its last hour"
    if source.hub.problem:
        return {"kind": "wrong", "words": f"{said} · Kafka cannot be reached"}
    if quiet > ARCHIVE_AFTER:
        return {"kind": "quiet", "words": f"{said} · an archive: nothing new comes"}
    if quiet > QUIET_AFTER:
        return {"kind": "quiet", "words": f"{said} · nothing new for {phrases.duration(quiet)}"}
    return {"kind": "well", "words": said}


@router.get("/")
def breaking(request: Request, source: From, chosen: Wanted) -> Response:
    """What is breaking now."""
    filters = {name: value for name, value in msgspec.structs.asdict(chosen).items() if value}

    def active() -> tuple[str, list[Row]]:
        position = written(source.hub.position())  # what comes after it is sent to the page
        return position, browse.active_events(source.reader, chosen, MOST_EVENTS)

    position, events = source.kept.answer(("active", chosen), 1.0, active)
    now = source.now(chosen.edition)
    is_whole = not filters.keys() - {"edition"}
    emerging = source.report("emerging-now", 5.0, edition=chosen.edition, limit=MOST_EMERGING) if is_whole else []
    ended = source.kept.answer(
        ("ended", chosen),
        5.0,
        lambda: browse.events(source.reader, msgspec.structs.replace(chosen, state="ended"), 10),
    )
    today = source.report("events", 10.0, since=_hour(now) - timedelta(days=1), edition=chosen.edition)
    return page(
        request,
        "breaking.html",
        cards=[card for row in events if (card := _card(request, row))],
        emerging=emerging,
        ended=ended,
        today=sum(row["merged_into"] is None for row in today),
        is_whole=is_whole,
        filters=filters,
        editions=sorted(source.editions()),
        now=now,
        position=position,
    )


@router.get("/live")
async def live(
    request: Request, source: From, chosen: Wanted, since: str | None = None, event: str | None = None
) -> Response:
    """The cards of events as they change, as server-sent events; or, of one event, only that it has changed."""
    given = request.headers.get("last-event-id") or since
    try:
        at = parse(given) if given else None
    except InvalidPosition:
        at = None
    cards: Cards = request.app.state.cards

    async def lines() -> AsyncIterator[str]:
        position = dict(at or source.hub.position())
        yield f"retry: 2000\n: {'.' * 2048}\n\n"
        async for told in source.hub.updates(at, GATHER_S):
            for one in told:
                position[one.partition] = one.offset
            mine = [
                one
                for one in told
                if (
                    one.update.event_id == event if event else chosen.matches(one.update) or one.update.state == "ended"
                )
            ]
            changed = "".join(card.notice if event else card.message for card in await cards.of(mine))
            yield f"{changed}id: {written(position)}\nevent: position\ndata: {len(mine)}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@router.get("/events/{event_id}")
def event(request: Request, source: From, event_id: str) -> Response:
    """An event with its evidence."""
    position = written(source.hub.position())
    found = event_of(source, event_id)
    reader = source.reader
    alert = _alert(found["alert"])
    curve = browse.event_curve(reader, event_id)
    stories = reader.report("event", event=event_id, limit=MOST_STORIES + 1)
    until = (
        found["ended_at"] or found["last_seen"]
        if found["state"] == "ended"
        else found["stream_time"] or found["last_seen"]
    )
    chart = charts.curve([(row["at"], row["stories"]) for row in curve], alert, until)
    publishers = browse.event_publishers(reader, event_id)
    return page(
        request,
        "event.html",
        event=found,
        why=phrases.why(found["alert"]) if found["alert"] else None,
        chart=chart,
        stories=_folded(stories[:MOST_STORIES]),
        more=max(0, found["stories"] - MOST_STORIES) if len(stories) > MOST_STORIES else 0,
        copies=sum(row["copies"] for row in curve),
        mood=phrases.state_of(browse.cards(reader, [event_id])[event_id]),
        publishers=publishers[:MOST_PUBLISHERS],
        other_publishers=publishers[MOST_PUBLISHERS:],
        related=[
            *({**row, "relation": "in another language"} for row in reader.report("linked-events", event=event_id)),
            *(row for row in reader.report("related-events", event=event_id) if row["relation"] != "other edition"),
        ],
        changes=[row for row in reader.report("changes", event=event_id) if row["change"] != "other"],
        updates=reader.report("event-timeline", event=event_id),
        amendments=amendments.amendments(reader, event_id=event_id, limit=MOST_AMENDMENTS),
        can_amend=source.settings.editor_token() is not None,
        now=found["stream_time"],
        position=position,
    )


def _alert(record: Mapping[str, Any] | None) -> charts.Alert | None:
    if record is None:
        return None
    at, start, end = (datetime.fromisoformat(record[name]) for name in ("at", "window_start", "window_end"))
    return charts.Alert(at, start, end, record["stories_in_window"], record["publishers_in_window"])


def _folded(stories: Sequence[Row]) -> list[tuple[Row, list[Row]]]:
    """Stories, each with the near-duplicates that stand under it."""
    folded: list[tuple[Row, list[Row]]] = []
    for story in stories:
        if story["copy_of"] is not None and folded and story["copy_of"] == folded[-1][0]["story_id"]:
            folded[-1][1].append(story)
        else:
            folded.append((story, []))
    return folded


@router.get("/stories")
def story(request: Request, source: From, id: Text) -> Response:  # noqa: A002 - the name in the address
    """A story: its cluster, copies and similar stories."""
    rows = source.reader.report("story", story=id)
    if not rows:
        raise NotFound(f"There is no story with the id or URL {id}.")
    found = rows[-1]
    similar = source.reader.report("similar-stories", story=found["story_id"], distance=3, limit=30)
    titles = browse.titles(source.reader, found["edition"], found["similar_ids"] or [])
    return page(
        request,
        "story.html",
        story=found,
        others=rows[:-1],
        events=browse.headlines(source.reader, found["event_ids"]),
        versions=browse.story_versions(source.reader, found["edition"], found["story_id"]),
        copies=similar,
        similar=titles,
        now=None,
    )


@router.get("/clusters")
def clusters(request: Request, source: From, edition: Edition = None) -> Response:
    """Large clusters that have not broken."""
    emerging = source.report("emerging-now", 5.0, edition=edition, limit=30, at_least=4)
    large = source.kept.answer(
        ("clusters", edition),
        10.0,
        lambda: browse.clusters(source.reader, 50, edition=edition, span=timedelta(hours=24), at_least=5),
    )
    return page(
        request,
        "clusters.html",
        emerging=emerging,
        large=[row for row in large if not row["has_broken"]],
        editions=sorted(source.editions()),
        edition=edition,
        now=source.now(edition),
    )


@router.get("/clusters/{cluster_id}")
def cluster(request: Request, source: From, cluster_id: str) -> Response:
    """A cluster and its stories."""
    found = browse.cluster(source.reader, checked(cluster_id))
    if found is None:
        raise NotFound(f"There is no cluster {cluster_id}.")
    if found["merged_into"]:
        return RedirectResponse(f"/clusters/{quote(found['merged_into'], safe='')}", 302)
    stories = browse.cluster_stories(source.reader, cluster_id, MOST_STORIES)
    return page(request, "cluster.html", cluster=found, stories=stories, now=None)


@router.get("/publishers")
def publishers(request: Request, source: From, edition: Edition = None, family: Text | None = None) -> Response:
    """Who publishes how much, is first, and missed what."""
    now = source.now(edition) or datetime.now(UTC)
    since = _hour(now) - timedelta(days=7)
    if family:
        missed = source.reader.report("missed-by", family=family, since=since)
        return page(request, "publisher.html", family=family, missed=missed, since=since, now=now)
    first = source.report("first-to-report", 60.0, since=since, edition=edition)
    return page(
        request,
        "publishers.html",
        publishers=source.report("publishers", 60.0, since=since, edition=edition, limit=200),
        first={row["family"]: row for row in first},
        sources=[row for row in source.report("sources", 60.0, since=since, edition=edition) if row["is_silent"]][:50],
        editions=sorted(source.editions()),
        edition=edition,
        since=since,
        now=now,
    )


@router.get("/search")
def search(
    request: Request, source: From, q: Annotated[str, Query(max_length=300)] = "", edition: Edition = None
) -> Response:
    """What there is on some words."""
    words = q.replace("\0", " ").strip()
    rows = source.reader.report("search", query=words, edition=edition, limit=30) if words else []
    kinds = {kind: [row for row in rows if row["kind"] == kind] for kind in ("event", "cluster", "story")}
    return page(
        request,
        "search.html",
        words=words,
        found=kinds,
        editions=sorted(source.editions()),
        edition=edition,
        now=source.now(),
    )


@router.get("/pipeline")
async def pipeline(request: Request, source: From) -> Response:
    """How the pipeline is."""
    kafka = await _progress(source)

    def draw() -> Response:
        now = source.now() or datetime.now(UTC)
        volume = source.report("volume", 60.0, since=_hour(now) - timedelta(hours=23), step=timedelta(hours=1))
        return page(
            request,
            "pipeline.html",
            health=source.report("pipeline-health", 5.0),
            volumes=_by_edition(volume),
            kafka=kafka,
            now=now,
        )

    return await asyncio.to_thread(draw)


def _hour(moment: datetime | None) -> datetime:
    """The whole hour before: a question that is the same for a while has one answer for all who ask."""
    return (moment or datetime.now(UTC)).replace(minute=0, second=0, microsecond=0)


def _by_edition(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["edition"], []).append(row)
    return found


async def _progress(source: Source) -> Mapping[str, Any]:
    """How far the workers are. Asked for when a page wants it, and by one at a time."""
    try:
        async with asyncio.timeout(5), source.asking_kafka, GroupProgress(source.settings) as progress:
            return {"lag": await progress.lag(), "dead_letters": await progress.dead_letters(), "problem": ""}
    except (TimeoutError, KafkaError, BrokerError, OSError) as error:
        return {"lag": None, "dead_letters": None, "problem": str(error) or "Kafka does not answer."}
