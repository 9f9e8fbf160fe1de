"""How the API answers: JSON, CSV or NDJSON by `Accept`; ETags; errors as problem+json (RFC 9457)."""

import base64
import binascii
import http
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from fastapi.dependencies.models import Dependant
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from pipeline.printed import csv_text, json_text
from pipeline.storage.read import Row

JSON, CSV, NDJSON = "application/json", "text/csv", "application/x-ndjson"
PROBLEM = "application/problem+json"


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": description,
        "content": {
            PROBLEM: {
                "schema": {
                    "type": "object",
                    "required": ["title", "status", "detail"],
                    "properties": {
                        "title": {"type": "string"},
                        "status": {"type": "integer"},
                        "detail": {"type": "string"},
                    },
                }
            }
        },
    }
    for status, description in {
        400: "What is asked for cannot be.",
        401: "The token is missing.",
        404: "There is no such thing.",
        406: "It cannot be had in that form.",
        422: "A parameter is wrong.",
        503: "Postgres does not answer now.",
    }.items()
}
"""The errors of every address, as OpenAPI describes them."""


class BadRequest(HTTPException):
    """What was asked for cannot be; the message says what can."""

    def __init__(self, detail: str) -> None:
        super().__init__(400, detail)


def only_known(request: Request) -> None:
    """Refuse parameters that the address does not have: a filter that is misspelled would choose everything.

    Raises BadRequest.
    """
    known = set(_parameters(request.scope["route"].dependant))
    unknown = sorted(set(request.query_params) - known)
    if unknown:
        raise BadRequest(
            f"{unknown[0]!r} is no parameter of this address, which has: {', '.join(sorted(known)) or 'none'}."
        )


def _parameters(dependant: Dependant) -> Iterator[str]:
    """The names of the parameters in the query of an address."""
    yield from (parameter.alias for parameter in dependant.query_params)
    for part in dependant.dependencies:
        yield from _parameters(part)


class NotFound(HTTPException):
    """What was asked for is not there."""

    def __init__(self, detail: str) -> None:
        super().__init__(404, detail)


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error: what went wrong, in a sentence."""
    body = {"type": "about:blank", "title": http.HTTPStatus(status).phrase, "status": status, "detail": detail}
    return Response(msgspec.json.encode(body), status, headers, PROBLEM)


def tagged(request: Request, body: bytes, media_type: str, headers: Mapping[str, str] | None = None) -> Response:
    """A body with its ETag; nothing but that where the reader has it already."""
    tag = f'"{blake2b(body, digest_size=12).hexdigest()}"'
    headers = {"ETag": tag, "Vary": "Accept", **(headers or {})}
    known = [name.strip().removeprefix("W/") for name in request.headers.get("if-none-match", "").split(",")]
    if tag in known or known == ["*"]:
        return Response(None, 304, headers)
    return Response(body, 200, headers, media_type)


def one(request: Request, row: Row) -> Response:
    """One thing as JSON."""
    return tagged(request, json_text(row).encode(), JSON)


def many(request: Request, rows: Sequence[Row], next_page: str | None = None) -> Response:
    """Rows, as the reader wants them: `{"items": [...], "next": URL}`, CSV, or a JSON object a line; `Link` has the next page."""
    headers = {} if next_page is None else {"Link": f'<{next_page}>; rel="next"'}
    wanted = accepted(request, (JSON, CSV, NDJSON))
    if wanted == CSV:
        return tagged(request, csv_text(rows).encode(), "text/csv; charset=utf-8", headers)
    if wanted == NDJSON:
        return tagged(request, "".join(f"{json_text(row)}\n" for row in rows).encode(), NDJSON, headers)
    return tagged(request, json_text({"items": rows, "next": next_page}).encode(), JSON, headers)


def accepted(request: Request, offered: Sequence[str]) -> str:
    """Which of these types the reader likes best, the first where all are the same. Raises HTTPException 406 if it takes none."""
    header = request.headers.get("accept", "*/*")
    best, quality = "", 0.0
    for kind in offered:
        likes = [_likes(part, kind) for part in header.split(",")]
        most = max(likes, default=(0, 0.0))[1]
        if most > quality:
            best, quality = kind, most
    if not best:
        raise HTTPException(406, f"Accept: {header[:100]!r}: this can be had as {', '.join(offered)}.")
    return best


def _likes(part: str, kind: str) -> tuple[int, float]:
    """How closely a part of `Accept` names a type, and how much it is liked."""
    name, *parameters = (piece.strip().lower() for piece in part.split(";"))
    main, _, sub = name.partition("/")
    kind_main, _, kind_sub = kind.partition("/")
    if main not in {"*", kind_main} or sub not in {"*", kind_sub}:
        return 0, 0.0
    quality = next((piece[2:] for piece in parameters if piece.startswith("q=")), "1")
    try:
        return 1 + (main != "*") + (sub != "*"), float(quality)
    except ValueError:
        return 0, 0.0


def page(
    request: Request, rows: Sequence[Row], limit: int, key: Callable[[Row], tuple[Any, str]]
) -> tuple[Sequence[Row], str | None]:
    """The first `limit` rows and the address of the next page; one row more was asked for than is shown."""
    if len(rows) <= limit:
        return rows, None
    shown = rows[:limit]
    cursor = base64.urlsafe_b64encode(msgspec.json.encode(key(shown[-1]))).decode().rstrip("=")
    return shown, request.url.include_query_params(after=cursor).path + "?" + request.url.include_query_params(
        after=cursor
    ).query


def key_of(cursor: str | None, kind: type) -> Any:
    """The key that a page begins after, from its cursor; None without one. Raises BadRequest."""
    if cursor is None:
        return None
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars="-_", validate=True)
        found: tuple[Any, str] = msgspec.json.decode(text, type=tuple[kind, str])  # type: ignore[valid-type]
    except (msgspec.MsgspecError, binascii.Error, ValueError):
        found = (None, "\0")
    if "\0" in found[1]:
        raise BadRequest(f"after={cursor[:80]!r} is no cursor: take that of the `next` of the page before.")
    return found
