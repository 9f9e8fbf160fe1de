"""The web server as a process: it says where it answers, and ends when it is told to."""

import asyncio
import socket
import sys
from contextlib import suppress

import uvicorn

from pipeline.config import Settings
from pipeline.logs import announce
from pipeline.web import SAYS_READY
from pipeline.web.app import create_app
from pipeline.web.hub import Hub

LEAVE_S = 2
"""Seconds that open streams get to end."""
WAITING = 2_048
"""Connections that may wait to be taken."""


class CannotListen(RuntimeError):
    """The address is taken, or is not of this machine; the message says which."""


class _Server(uvicorn.Server):
    """Says where it answers, once it does; ends the streams before it waits for its answers."""

    def __init__(self, config: uvicorn.Config, settings: Settings, hub: Hub) -> None:
        super().__init__(config)
        self._settings, self._hub = settings, hub

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or []:
            host, port = listening.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            announce(self._settings, f"{SAYS_READY}http://{shown}:{port}/", sys.stderr)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._hub.close()
        await super().shutdown(sockets)


def serve(settings: Settings) -> None:
    """Serve until a signal comes. Raises SettingsError and CannotListen."""
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        log_config=None,  # the log is configured for all of us
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LEAVE_S,
        lifespan="on",
    )
    with (
        _listening(settings.web_host, settings.web_port) as listening,
        suppress(SystemExit, KeyboardInterrupt),  # it ends by a signal, and all is well
    ):
        asyncio.run(_Server(config, settings, app.state.source.hub).serve([listening]))


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=WAITING)
    except OSError as error:
        raise CannotListen(
            f"Nothing can listen at {host}:{port}: {error.strerror}. NEWSBURST_WEB_HOST and NEWSBURST_WEB_PORT choose another."
        ) from None
