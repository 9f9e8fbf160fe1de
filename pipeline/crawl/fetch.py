"""Fetching: over HTTP, from public addresses only, and no more than a feed can be.

Where a name leads is looked up once, and the connection is made to that very address; so neither a redirect nor a name that leads
elsewhere the second time reaches a machine of the network that the crawler is in.
"""

import asyncio
import http
import ipaddress
import socket
import time
from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urljoin, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from protego import Protego

from pipeline import __version__

AGENT = "Newsburst"
USER_AGENT = f"{AGENT}/{__version__} (feed reader)"
LARGEST = 4 * 1024 * 1024
"""Bytes of a feed, unpacked."""
LARGEST_ROBOTS = 512 * 1024
TIMEOUT_S = 30.0
ROBOTS_S = 24 * 3600.0
"""How long an answer about robots.txt is good."""
SERVER_ERROR = 500
MOST_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
PORTS = frozenset({80, 443, 8080, 8443})


class NotFetched(RuntimeError):
    """A feed could not be had; the message says why."""

    def __init__(self, why: str, after: timedelta | None = None, status: int | None = None) -> None:
        super().__init__(why)
        self.after = after
        """how long its server wants to be left alone"""
        self.status = status
        """what its server answered, if it did"""


class Fetched(NamedTuple):
    """An answer; `body` is None where nothing has changed."""

    body: bytes | None
    url: str
    content_type: str
    etag: str | None
    modified: str | None
    after: timedelta | None
    """how long its server wants to be left alone"""


class PublicResolver(AbstractResolver):
    """Looks names up, and refuses those that lead to addresses that are not public."""

    def __init__(self) -> None:
        self._resolver = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name."""
        found = await self._resolver.resolve(host, port, family)
        for one in found:
            check_address(one["host"])
        return found

    async def close(self) -> None:
        """End it."""
        await self._resolver.close()


def check_address(address: str) -> None:
    """Raise NotFetched for an address that is not public."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(parsed, "ipv4_mapped", None) or getattr(parsed, "sixtofour", None)
    for one in filter(None, (parsed, mapped)):
        if not one.is_global or one.is_multicast:
            raise NotFetched(f"{address} is not a public address")


def check_url(url: str) -> str:
    """The URL, if it may be asked for. Raises NotFetched."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise NotFetched(f"{url[:200]!r} is no URL") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise NotFetched(f"{url[:200]!r} is no address of the web")
    if port is not None and port not in PORTS:
        raise NotFetched(f"port {port} is none of the web's")
    try:
        ipaddress.ip_address(parts.hostname)
    except ValueError:
        return url
    check_address(parts.hostname)
    return url


class Fetcher:
    """Fetches politely: one connection a host, and what robots.txt allows."""

    def __init__(self, *, private: bool = False) -> None:
        """With `private`, addresses of this network may be asked, too: for feeds of one's own."""
        self._private = private
        self._robots: dict[str, tuple[float, Protego]] = {}
        self._hosts: dict[str, asyncio.Lock] = {}

    async def __aenter__(self) -> Self:
        resolver: AbstractResolver = ThreadedResolver() if self._private else PublicResolver()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=50, limit_per_host=1, resolver=resolver, ttl_dns_cache=60),
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
            headers={"User-Agent": USER_AGENT},
            cookie_jar=aiohttp.DummyCookieJar(),
            max_line_size=16_384,
            max_field_size=16_384,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def fetch(self, url: str, etag: str | None = None, modified: str | None = None) -> Fetched:
        """What is at a URL, unless it has not changed. Raises NotFetched."""
        headers = {
            "Accept": "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9, */*;q=0.5"
        }
        if etag:
            headers["If-None-Match"] = etag
        if modified:
            headers["If-Modified-Since"] = modified
        for _ in range(MOST_REDIRECTS + 1):
            if not self._private:
                check_url(url)
            host = urlsplit(url).netloc
            async with self._hosts.setdefault(host, asyncio.Lock()):
                if not await self._allowed(url):
                    raise NotFetched("robots.txt does not allow it")
                found = await self._get(url, headers, LARGEST)
            if isinstance(found, Fetched):
                return found
            url = urljoin(url, found)
        raise NotFetched(f"more than {MOST_REDIRECTS} redirects")

    async def _get(self, url: str, headers: Mapping[str, str], largest: int) -> Fetched | str:
        """What is at a URL, or where it redirects to."""
        try:
            async with self._session.get(url, headers=headers, allow_redirects=False) as response:
                return await _answer(response, url, headers, largest)
        except TimeoutError:
            raise NotFetched(f"no answer within {TIMEOUT_S:.0f} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NotFetched(str(error) or type(error).__name__) from None

    async def _allowed(self, url: str) -> bool:
        """Whether robots.txt allows it (RFC 9309). Raises NotFetched where it cannot be had: then nothing is allowed."""
        parts = urlsplit(url)
        place = f"{parts.scheme}://{parts.netloc}"
        at, robots = self._robots.get(place, (0.0, None))
        if robots is None or time.monotonic() - at > ROBOTS_S:
            try:
                found = await self._get(f"{place}/robots.txt", {}, LARGEST_ROBOTS)
                text = (found.body or b"").decode(errors="replace") if isinstance(found, Fetched) else ""
            except NotFetched as error:
                if error.status is None or error.status >= SERVER_ERROR:
                    raise NotFetched(f"robots.txt: {error}", error.after) from None
                text = ""  # there is none
            robots = Protego.parse(text)
            self._robots[place] = time.monotonic(), robots
        return bool(robots.can_fetch(url, AGENT))


async def _answer(response: aiohttp.ClientResponse, url: str, asked: Mapping[str, str], largest: int) -> Fetched | str:
    given, after = response.headers, _after(response.headers)
    if response.status in REDIRECTS and "Location" in given:
        return given["Location"]
    if response.status == http.HTTPStatus.NOT_MODIFIED:
        return Fetched(None, url, "", asked.get("If-None-Match"), asked.get("If-Modified-Since"), after)
    if response.status != http.HTTPStatus.OK:
        said = f"the server says {response.status} {response.reason or ''}"
        raise NotFetched(said.strip(), after, response.status)
    body = await _read(response, largest)
    return Fetched(body, url, given.get("Content-Type", ""), given.get("ETag"), given.get("Last-Modified"), after)


async def _read(response: aiohttp.ClientResponse, largest: int) -> bytes:
    parts, size = [], 0
    async for part in response.content.iter_chunked(65_536):
        size += len(part)
        if size > largest:
            raise NotFetched(f"it is larger than {largest:,} bytes")
        parts.append(part)
    return b"".join(parts)


def _after(headers: Mapping[str, Any]) -> timedelta | None:
    """How long the server wants to be left alone: `Retry-After`, or the `max-age` of its answer."""
    seconds = str(headers.get("Retry-After", ""))
    if not seconds.isdigit():
        ages = [part.strip() for part in str(headers.get("Cache-Control", "")).lower().split(",")]
        seconds = next((age.removeprefix("max-age=") for age in ages if age.startswith("max-age=")), "")
    return timedelta(seconds=int(seconds)) if seconds.isascii() and seconds.isdigit() and len(seconds) < 8 else None
