"""The web server: pages, API, feeds and live updates on one address."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import msgspec
import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from pipeline import __version__
from pipeline.config import Settings
from pipeline.storage.engine import DatabaseError, InvalidValue, NotMigrated, TooSlow
from pipeline.web import amend, api, feeds, pages, static
from pipeline.web.access import Access, known_hosts
from pipeline.web.answers import problem
from pipeline.web.cards import Cards
from pipeline.web.deadline import Deadline
from pipeline.web.forms import WithoutEmptyFields
from pipeline.web.source import Source

log = structlog.get_logger()


def create_app(settings: Settings) -> FastAPI:
    """The application for these settings. It begins to follow Kafka when it starts. Raises SettingsError."""
    source = Source(settings)
    templates = pages.environment()
    cards = Cards(source, lambda row: pages.draw_card(templates, row))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(source.hub.run()), asyncio.create_task(cards.run())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*tasks)
            source.kept.close()
            source.reader.close()

    app = FastAPI(
        title="Newsburst",
        version=__version__,
        description="Breaking news events: what is breaking, with its evidence. Read only.",
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.source, app.state.templates, app.state.cards = source, templates, cards
    for router in (api.router, feeds.router, amend.router, pages.router):
        app.include_router(router)
    app.include_router(static.router)
    app.add_middleware(WithoutEmptyFields)
    app.add_middleware(Deadline)
    app.add_middleware(
        Access, token=settings.token(), editor_token=settings.editor_token(), hosts=known_hosts(settings)
    )
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(DatabaseError, _database_error)
    app.add_exception_handler(Exception, _unexpected)
    return app


def _error(request: Request, status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """An error as the API says it, or as a page."""
    if request.url.path.startswith(("/api/", "/feeds/", "/static/", "/live")):
        return problem(status, detail, headers)
    body = request.app.state.templates.get_template("error.html").render(
        here=request.url.path, pulse=None, position=None, status=status, detail=detail
    )
    return Response(body, status, headers, "text/html; charset=utf-8")


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = {404: "There is nothing at this address.", 405: "This can only be read: use GET."}.get(
        error.status_code, ""
    )
    said = str(error.detail)
    return _error(
        request,
        error.status_code,
        detail if detail and said in {"Not Found", "Method Not Allowed"} else said,
        dict(error.headers or {}),
    )


def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    given = msgspec.json.encode(first.get("input"), enc_hook=str).decode()[:100]
    return _error(request, 422, f"{first['loc'][-1]}={given}: {first['msg']}.")


def _database_error(request: Request, error: Exception) -> Response:
    if isinstance(error, InvalidValue):
        return _error(request, 400, str(error))
    log.warning("no answer from Postgres", path=request.url.path, error=str(error))
    if isinstance(error, TooSlow):
        return _error(request, 503, str(error), {"Retry-After": "10"})
    if isinstance(error, NotMigrated):
        return _error(request, 503, "The schema news in Postgres is missing or old: run `newsburst migrate`.")
    said = "Postgres cannot be reached now; nothing is lost. Try again in a moment."
    return _error(request, 503, said, {"Retry-After": "2"})


def _unexpected(request: Request, error: Exception) -> Response:
    log.error("not answered", path=request.url.path, error=repr(error))
    return _error(request, 500, "Something is wrong here; the log of this server says what.")
