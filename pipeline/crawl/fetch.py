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
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, NamedTuple, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from protego import Protego
from yarl import URL

from pipeline import __version__
from pipeline.retry_after import retry_after, seconds

AGENT = "Newsburst"
USER_AGENT = f"{AGENT}/{__version__} (feed reader)"
LARGEST = 4 * 1024 * 1024
"""Bytes of a feed, unpacked."""
LARGEST_ROBOTS = 512 * 1024
TIMEOUT_S = 30.0
ROBOTS_S = 24 * 3600.0
"""How long an answer about robots.txt is good."""
LONGEST_DELAY_S = 60.0
"""The longest `Crawl-delay` that is kept between two requests."""
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


def web_url(url: str) -> URL:
    """A URL of the web, with the host as it is asked for: in ASCII. Raises NotFetched."""
    try:
        found = URL(url)
        found.port  # noqa: B018 - it may be none
    except ValueError:
        raise NotFetched(f"{url[:200]!r} is no URL") from None
    if found.scheme not in {"http", "https"} or not found.raw_host:
        raise NotFetched(f"{url[:200]!r} is no address of the web")
    return found


def check_url(url: URL) -> None:
    """Raise NotFetched for a URL that does not lead to a public address of the web."""
    if url.port not in PORTS:
        raise NotFetched(f"port {url.port} is none of the web's")
    try:
        ipaddress.ip_address(url.raw_host or "")
    except ValueError:
        return  # a name, which the resolver looks up
    check_address(url.raw_host or "")


def without_password(url: str) -> str:
    """A URL as it may be shown."""
    try:
        found = URL(url)
    except ValueError:
        return url
    return str(found.with_user(None)) if found.user or found.password else url


class Fetcher:
    """Fetches politely: one connection a host, and what robots.txt allows."""

    def __init__(self, *, private: bool = False) -> None:
        """With `private`, addresses of this network may be asked, too: for feeds of one's own."""
        self._private = private
        self._robots: dict[str, tuple[float, Protego]] = {}
        self._hosts: dict[str, asyncio.Lock] = {}
        self._asked: dict[str, float] = {}
        """when each host was asked last"""

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
        place = web_url(url)
        for _ in range(MOST_REDIRECTS + 1):
            async with self._hosts.setdefault(place.authority, asyncio.Lock()):
                robots = await self._robots_of(place)
                if not robots.can_fetch(str(place), AGENT):
                    raise NotFetched("robots.txt does not allow it")
                await self._wait_for(place, robots)
                found = await self._get(place, headers, LARGEST)
            if isinstance(found, Fetched):
                return found
            place = _redirected(place, found)
        raise NotFetched(f"more than {MOST_REDIRECTS} redirects")

    async def _wait_for(self, url: URL, robots: Protego) -> None:
        """Leave a host alone for as long as its robots.txt asks for."""
        delay = min(float(robots.crawl_delay(AGENT) or 0.0), LONGEST_DELAY_S)
        last = self._asked.get(url.authority)
        if delay and last is not None:
            await asyncio.sleep(max(0.0, last + delay - time.monotonic()))
        self._asked[url.authority] = time.monotonic()

    async def _get(self, url: URL, headers: Mapping[str, str], largest: int, *, cut: bool = False) -> Fetched | str:
        """What is at a URL, or where it redirects to."""
        if not self._private:
            check_url(url)
        try:
            async with self._session.get(url, headers=headers, allow_redirects=False) as response:
                return await _answer(response, url, headers, largest, cut=cut)
        except TimeoutError:
            raise NotFetched(f"no answer within {TIMEOUT_S:.0f} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NotFetched(str(error) or type(error).__name__) from None

    async def _robots_of(self, url: URL) -> Protego:
        """What robots.txt allows (RFC 9309). Raises NotFetched where it cannot be had: then nothing is allowed."""
        place = url.origin()
        at, robots = self._robots.get(str(place), (0.0, None))
        if robots is None or time.monotonic() - at > ROBOTS_S:
            try:
                text = await self._robots_text(place / "robots.txt")
            except NotFetched as error:
                if error.status is None or error.status >= SERVER_ERROR:
                    raise NotFetched(f"robots.txt: {error}", error.after) from None
                text = ""  # there is none
            robots = Protego.parse(text)
            self._robots[str(place)] = time.monotonic(), robots
        return robots

    async def _robots_text(self, url: URL) -> str:
        for _ in range(MOST_REDIRECTS):
            found = await self._get(url, {}, LARGEST_ROBOTS, cut=True)
            if isinstance(found, Fetched):
                return (found.body or b"").decode("utf-8-sig", errors="replace")
            url = _redirected(url, found)
        return ""  # as if there were none


def _redirected(url: URL, location: str) -> URL:
    """Where a redirect leads to. Raises NotFetched."""
    try:
        return web_url(str(url.join(URL(location))))
    except ValueError:
        raise NotFetched(f"it redirects to {location[:200]!r}, which is no URL") from None


async def _answer(
    response: aiohttp.ClientResponse, url: URL, asked: Mapping[str, str], largest: int, *, cut: bool
) -> Fetched | str:
    shown = without_password(str(url))
    given, after = response.headers, _after(response.headers)
    if response.status in REDIRECTS and "Location" in given:
        return given["Location"]
    if response.status == http.HTTPStatus.NOT_MODIFIED:
        return Fetched(None, shown, "", asked.get("If-None-Match"), asked.get("If-Modified-Since"), after)
    if response.status != http.HTTPStatus.OK:
        said = f"the server says {response.status} {response.reason or ''}"
        raise NotFetched(said.strip(), after, response.status)
    body = await _read(response, largest, cut=cut)
    return Fetched(
        body, shown, given.get("Content-Type", ""), _printable(given, "ETag"), _printable(given, "Last-Modified"), after
    )


def _printable(headers: Mapping[str, str], name: str) -> str | None:
    """A header that can be sent back."""
    value = headers.get(name)
    return value if value and value.isascii() and value.isprintable() else None


async def _read(response: aiohttp.ClientResponse, largest: int, *, cut: bool) -> bytes:
    """The body; of one that is too large what fits, if it may be cut. Raises NotFetched."""
    parts, size = [], 0
    async for part in response.content.iter_chunked(65_536):
        size += len(part)
        if size > largest:
            if cut:
                break
            raise NotFetched(f"it is larger than {largest:,} bytes")
        parts.append(part)
    return b"".join(parts)


def _after(headers: Mapping[str, Any]) -> timedelta | None:
    """How long the server wants to be left alone: `Retry-After`, or the `max-age` of its answer."""
    after = retry_after(str(headers.get("Retry-After", "")), datetime.now(UTC))
    if after is None:
        ages = [part.strip() for part in str(headers.get("Cache-Control", "")).lower().split(",")]
        after = seconds(next((age.removeprefix("max-age=") for age in ages if age.startswith("max-age=")), ""))
    return after
