"""Who may read, who may correct, and what every answer says to browsers."""

import base64
import hmac
import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.config import Settings
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


EDITORS = "/amend"
"""How the addresses end that only editors may use."""


class Access:
    """Lets in whoever has the token, as `Authorization: Bearer TOKEN`, or as the password of Basic, for which browsers ask.

    Editors have a token of their own, with which they may read, too.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str | None,
        editor_token: str | None = None,
        hosts: Collection[str] | None = None,
    ) -> None:
        """With `hosts`, only these names and bare addresses are answered to: a page of another site could else lead a name of
        its own to this machine, and read what is here (DNS rebinding).
        """
        self._app = app
        self._token, self._editor_token, self._hosts = token, editor_token, hosts

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
        headers = Headers(scope=scope)
        if self._hosts is not None and not _is_known(headers.get("host", ""), self._hosts):
            return problem(
                421,
                "This server does not answer to that name; if it should, set NEWSBURST_WEB_URL to the address of the pages.",
            )
        authorization = headers.get("authorization", "")
        is_editor = self._editor_token is not None and _same(_token_of(authorization), self._editor_token)
        if scope["path"].endswith(EDITORS):
            return None if is_editor and not _from_elsewhere(scope, headers) else self._not_editor(is_editor=is_editor)
        if scope["path"] in OPEN or is_editor or may_read(authorization, self._token):
            return None
        return problem(
            401,
            "This server wants its token: send the header `Authorization: Bearer TOKEN`, or the token as password.",
            headers={"WWW-Authenticate": 'Basic realm="Newsburst", charset="UTF-8"'},
        )

    def _not_editor(self, *, is_editor: bool) -> Response:
        if is_editor:
            return problem(403, "This request comes from another site's page: nothing was changed.")
        if self._editor_token is None:
            return problem(
                403,
                "Nobody can correct events here: the server has no NEWSBURST_WEB_EDITOR_TOKEN. `newsburst amend` does it, too.",
            )
        return problem(
            401,
            "Only editors may do this: send the header `Authorization: Bearer TOKEN`, or your name and the token as password.",
            headers={"WWW-Authenticate": 'Basic realm="Newsburst editors: your name, and the token", charset="UTF-8"'},
        )


def may_read(authorization: str, token: str | None) -> bool:
    """Whether who sends this header has the token; where there is none, everyone may read."""
    return token is None or _same(_token_of(authorization), token)


def _is_known(host: str, hosts: Collection[str]) -> bool:
    """Whether a request's `Host` is one of these names, or an address, which no other site's page can have."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in hosts
    return True


def known_hosts(settings: Settings) -> Collection[str] | None:
    """The names that this server has; None where it listens beyond this machine, and may have any."""
    try:
        is_local = ipaddress.ip_address(settings.web_host).is_loopback
    except ValueError:
        is_local = settings.web_host == "localhost"
    if not is_local:
        return None
    return {"localhost", urlsplit(settings.web_url or "").hostname or "localhost"}


def _token_of(authorization: str) -> str | None:
    """The token in a header, if there is one."""
    scheme, _, given = authorization.partition(" ")
    if scheme.lower() == "basic":
        return _basic(given)[1]
    return given.strip() if scheme.lower() == "bearer" else None


def name_of(authorization: str) -> str | None:
    """Who sends this header, as Basic names them."""
    scheme, _, given = authorization.partition(" ")
    return (_basic(given)[0] or None) if scheme.lower() == "basic" else None


def _basic(given: str) -> tuple[str, str | None]:
    """Name and password."""
    try:
        name, _, password = base64.b64decode(given, validate=True).decode().partition(":")
    except ValueError:
        return "", None
    return name.strip(), password.strip()


def _same(given: str | None, token: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode(), token.encode())


def _from_elsewhere(scope: Scope, headers: Headers) -> bool:
    """Whether a page of another site makes a browser send this. Browsers know passwords, and send them for anyone.

    https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Site
    """
    if scope["method"] == "GET":
        return False
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in {"same-origin", "none"}
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host")
