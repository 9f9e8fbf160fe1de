"""Who may read, and what every answer says to browsers."""

import base64
import hmac

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.web.answers import problem

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
OPEN = frozenset({"/api/health"})
"""What may be read without the token: what a supervisor asks."""


class Access:
    """Lets in whoever has the token, as `Authorization: Bearer TOKEN`, or as the password of Basic, for which browsers ask."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        is_head = scope["method"] == "HEAD"  # answered as GET is, without the body
        if is_head:
            scope = {**scope, "method": "GET"}

        async def send_with_headers(message: Message) -> None:
            if is_head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-cache")
            await send(message)

        refused = self._refused(scope)
        await (refused or self._app)(scope, receive, send_with_headers)

    def _refused(self, scope: Scope) -> Response | None:
        if scope["path"] in OPEN or may_read(Headers(scope=scope).get("authorization", ""), self._token):
            return None
        return problem(
            401,
            "This server wants its token: send the header `Authorization: Bearer TOKEN`, or the token as password.",
            headers={"WWW-Authenticate": 'Basic realm="Newsburst", charset="UTF-8"'},
        )


def may_read(authorization: str, token: str | None) -> bool:
    """Whether who sends this header may read."""
    if token is None:
        return True
    scheme, _, given = authorization.partition(" ")
    if scheme.lower() == "basic":
        try:
            _, _, given = base64.b64decode(given, validate=True).decode().partition(":")
        except ValueError:
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(given.strip().encode(), token.encode())
