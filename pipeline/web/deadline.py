"""No answer takes for ever: where Postgres hangs, readers are told so."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.web.answers import problem

ANSWER_S = 15.0
"""Seconds that an answer has to begin."""


class Deadline:
    """Answers 503 where nothing has begun in time; streams, once begun, go on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False
        try:
            async with asyncio.timeout(ANSWER_S) as deadline:

                async def send_in_time(message: Message) -> None:
                    nonlocal begun
                    if not begun:
                        begun = True
                        deadline.reschedule(None)
                    await send(message)

                await self._app(scope, receive, send_in_time)
        except TimeoutError:
            if begun:
                raise
            said = "Postgres did not answer in time; nothing is lost. Try again in a moment."
            await problem(503, said, {"Retry-After": "10"})(scope, receive, send)
