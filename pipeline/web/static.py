"""The style sheet, the script and the icon: read once, served from memory."""

from importlib.resources import files

from fastapi import APIRouter, Request
from starlette.responses import Response

from pipeline.web.answers import NotFound, tagged

TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
FILES = {one.name: one.read_bytes() for one in (files("pipeline.web") / "static").iterdir() if one.is_file()}
router = APIRouter(prefix="/static", include_in_schema=False)


@router.get("/{name}")
async def static(request: Request, name: str) -> Response:
    """A file."""
    if name not in FILES:
        raise NotFound("There is nothing at this address.")
    return tagged(request, FILES[name], TYPES[name.rpartition(".")[2]])
