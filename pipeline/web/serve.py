"""The web server as a process: it says where it answers, and ends when it is told to."""

import asyncio
import sys

import uvicorn

from pipeline.config import Settings
from pipeline.web.app import create_app

SAYS_READY = "newsburst web: ready at "
"""What it writes when it answers."""
LEAVE_S = 2
"""Seconds that open streams get to end."""


class CannotListen(RuntimeError):
    """The address is taken, or is not of this machine; the message says which."""


class _Server(uvicorn.Server):
    """Says where it answers, once it does."""

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            for server in self.servers:
                host, port = server.sockets[0].getsockname()[:2]
                shown = f"[{host}]" if ":" in host else host
                print(f"{SAYS_READY}http://{shown}:{port}/", file=sys.stderr, flush=True)  # noqa: T201 - a line for people


def serve(settings: Settings) -> None:
    """Serve until a signal comes. Raises SettingsError, CannotListen."""
    config = uvicorn.Config(
        create_app(settings),
        host=settings.web_host,
        port=settings.web_port,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LEAVE_S,
        lifespan="on",
    )
    server = _Server(config)
    try:
        asyncio.run(server.serve())
    except SystemExit:
        raise CannotListen(
            f"Nothing can listen at {settings.web_host}:{settings.web_port}: is another server there? Choose NEWSBURST_WEB_PORT."
        ) from None
