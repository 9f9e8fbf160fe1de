"""What a feed says: RSS, Atom, JSON Feed and news sitemaps, well formed or not."""

import calendar
import time
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin, urlsplit
from xml.etree import ElementTree as ET

import feedparser
import msgspec

from pipeline.printed import shown

MOST_ENTRIES = 1_000
"""Entries of one feed that are looked at."""
LARGEST = 16 * 1024 * 1024
"""Bytes of a packed file when it is unpacked."""
MOST_TAGS = 150_000
"""Tags, and attributes, of a feed: to read more takes minutes."""
LONGEST = 2_000
"""Characters of a title, as of stories."""
NEWS = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9", "n": "http://www.google.com/schemas/sitemap-news/0.9"}


class InvalidFeed(ValueError):
    """What was fetched is no feed; the message says what it looks like."""


class Entry(msgspec.Struct, frozen=True):
    """A story as its feed announces it."""

    url: str
    title: str
    published_at: datetime | None
    language: str | None
    publisher: str | None


class Feed(msgspec.Struct, frozen=True):
    """A feed: who publishes it, in which language, and its entries, the newest often first."""

    title: str
    language: str | None
    entries: Sequence[Entry]


def parse(body: bytes, url: str, content_type: str = "") -> Feed:
    """The feed that was fetched from this address. Raises InvalidFeed."""
    body = _unpacked(body)
    begin = body[:4_000].lstrip(b"\xef\xbb\xbf \t\r\n")
    if begin.startswith(b"{"):
        return _json_feed(body, url)
    if body.count(b"<") > MOST_TAGS or body.count(b"=") > MOST_TAGS:
        raise InvalidFeed(f"it has more than {MOST_TAGS:,} tags or attributes, as no feed has")
    if b"<urlset" in begin:
        return _sitemap(body, url)
    if b"<sitemapindex" in begin:
        raise InvalidFeed("it is an index of sitemaps: name the sitemap for news that it lists")
    # resolving and cleaning of markup are switched off: only titles, addresses and times are taken
    found = feedparser.parse(
        body,
        response_headers={"content-type": content_type} if content_type else {},
        sanitize_html=False,
        resolve_relative_uris=False,
    )
    if not found.entries and not found.get("version"):
        raise InvalidFeed(f"it is no feed: it begins with {shown(begin[:60].decode(errors='replace'))!r}")
    feed = found.feed
    language = _text(feed.get("language")) or None
    return Feed(
        _plain(feed.get("title")),
        language,
        [entry for one in found.entries[:MOST_ENTRIES] if (entry := _entry(one, url, language))],
    )


def _unpacked(body: bytes) -> bytes:
    """The body of a file that is packed by gzip, as sitemaps are; others as they are. Raises InvalidFeed."""
    if not body.startswith(b"\x1f\x8b"):
        return body
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        unpacked = unpacking.decompress(body, LARGEST)
    except zlib.error as error:
        raise InvalidFeed(f"it is packed, and broken: {error}") from None
    if unpacking.unconsumed_tail:
        raise InvalidFeed(f"unpacked, it is larger than {LARGEST:,} bytes")
    return unpacked


def _entry(one: Mapping[str, Any], base: str, language: str | None) -> Entry | None:
    title = _plain(one.get("title"))
    link = _address(base, one.get("link") or (one.get("id") if str(one.get("id", "")).startswith("http") else None))
    if not title or link is None:
        return None
    parsed = one.get("published_parsed") or one.get("updated_parsed")
    source = one.get("source")
    own = _text(one.get("title_detail", {}).get("language")) or language
    return Entry(link, title, _moment(parsed), own, _plain(source.get("title")) if source else None)


def _moment(parsed: time.struct_time | None) -> datetime | None:
    try:
        return None if parsed is None else datetime.fromtimestamp(calendar.timegm(parsed), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _json_feed(body: bytes, url: str) -> Feed:
    try:
        found = msgspec.json.decode(body.decode("utf-8-sig", errors="replace"))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InvalidFeed("it is no JSON Feed: its JSON is broken") from None
    items = found.get("items") if isinstance(found, dict) else None
    if not isinstance(items, list):
        raise InvalidFeed("it is no JSON Feed: it has no items")
    language = _text(found.get("language")) or None
    entries: list[Entry] = []
    for item in items[:MOST_ENTRIES]:
        if not isinstance(item, dict):
            continue
        title, link = _plain(item.get("title")), _address(url, item.get("url") or item.get("external_url"))
        if title and link:
            entries.append(
                Entry(link, title, _iso(item.get("date_published")), _text(item.get("language")) or language, None)
            )
    return Feed(_plain(found.get("title")), language, entries)


def _sitemap(body: bytes, url: str) -> Feed:
    """A sitemap for news (https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap)."""
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        raise InvalidFeed("it is a sitemap that defines entities")
    try:
        root = ET.fromstring(body)  # noqa: S314 - without entities there is nothing to expand
    except (ET.ParseError, ValueError, LookupError) as error:  # the last for encodings that nobody knows
        raise InvalidFeed(f"it is no sitemap: {error}") from None
    entries: list[Entry] = []
    for one in root.iterfind("s:url", NEWS):
        title, link = (
            _plain(one.findtext("n:news/n:title", "", NEWS)),
            _address(url, one.findtext("s:loc", "", NEWS).strip()),
        )
        if title and link and len(entries) < MOST_ENTRIES:
            published = _iso(one.findtext("n:news/n:publication_date", "", NEWS).strip())
            named = one.find("n:news/n:publication", NEWS)
            entries.append(
                Entry(
                    link,
                    title,
                    published,
                    None if named is None else _text(named.findtext("n:language", "", NEWS)) or None,
                    None if named is None else _plain(named.findtext("n:name", "", NEWS)) or None,
                )
            )
    return Feed(entries[0].publisher or "" if entries else "", entries[0].language if entries else None, entries)


def _address(base: str, link: Any) -> str | None:
    try:
        whole = urljoin(base, link.strip()) if isinstance(link, str) and link else ""
        return whole if urlsplit(whole).scheme in {"http", "https"} and urlsplit(whole).hostname else None
    except ValueError:
        return None


def _iso(text: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:  # a zone leads it out of the calendar
        return None


def _plain(text: Any) -> str:
    return " ".join(text.split())[:LONGEST] if isinstance(text, str) else ""


def _text(text: Any) -> str:
    return text.strip()[:35] if isinstance(text, str) else ""
