"""The crawler: asks each feed when it is due, and puts what is new into Kafka.

What was seen is kept in a file, so that a crawler that is started again sends nothing twice and asks only for what has changed.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import msgspec
import structlog

from pipeline.crawl.fetch import Fetcher, NotFetched
from pipeline.crawl.interval import SHORTEST, after_failure, next_interval
from pipeline.crawl.opml import Source
from pipeline.crawl.parse import Entry, Feed, InvalidFeed, parse
from pipeline.records import MAX_PUBLISHER, MAX_URL, Story

AT_ONCE = 20
"""Feeds that are asked at once."""
KEPT = 3_000
"""Entries of a feed that are remembered: more than any feed has at a time."""
OLDEST = timedelta(days=3)
"""An entry that says it was published longer ago than this is not news."""
SAVE_S = 30.0
SPREAD_S = 20.0
"""Within this time the feeds are asked first, so that not all are asked at once."""

log = structlog.get_logger()
Send = Callable[[Story], Awaitable[None]]


class State(msgspec.Struct):
    """What is known of a feed."""

    etag: str | None = None
    modified: str | None = None
    interval_s: float | None = None
    due_at: datetime | None = None
    failures: int = 0
    seen: list[str] = []


class Checked(NamedTuple):
    """What came of asking a feed once."""

    source: Source
    entries: int
    newest: datetime | None
    problem: str


class Crawler:
    """Crawls some feeds."""

    def __init__(self, sources: Sequence[Source], state: Path, send: Send, fetcher: Fetcher) -> None:
        """State is kept in that file; `send` takes each new story. Raises OSError where the file cannot be read."""
        self._sources, self._path, self._send, self._fetcher = sources, state, send, fetcher
        self._states = _load(state)
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self.sent = 0
        """stories so far"""

    async def run(self) -> None:
        """Crawl for ever."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for source in self._sources:
                    tasks.create_task(self._follow(source))
                tasks.create_task(self._keep())
        finally:
            self.save()

    async def once(self) -> None:
        """Ask every feed once."""
        try:
            await asyncio.gather(*(self.ask(source) for source in self._sources))
        finally:
            self.save()

    async def ask(self, source: Source) -> None:
        """Ask a feed, send what is new in it, and note when it is due again."""
        state = self._states.setdefault(source.url, State())
        try:
            async with self._at_once:
                found = await self._fetcher.fetch(source.url, state.etag, state.modified)
            feed = (
                None
                if found.body is None
                else await asyncio.to_thread(parse, found.body, found.url, found.content_type)
            )
        except (NotFetched, InvalidFeed) as error:
            state.failures += 1
            wait = after_failure(state.failures, getattr(error, "after", None) or SHORTEST)
            log.warning("feed not read", url=source.url, error=str(error), failures=state.failures, again_in=str(wait))
        else:
            new = 0 if feed is None else await self._take(source, state, feed)
            before = None if state.interval_s is None else timedelta(seconds=state.interval_s)
            wait = next_interval(before, new, found.after or SHORTEST)
            state.interval_s, state.failures = wait.total_seconds(), 0
            state.etag, state.modified = found.etag, found.modified
        state.due_at = datetime.now(UTC) + wait

    async def _take(self, source: Source, state: State, feed: Feed) -> int:
        """Send the entries of a feed that are new; returns how many."""
        now = datetime.now(UTC)
        seen = set(state.seen)
        new = [(name, entry) for entry in reversed(feed.entries) if (name := _name(entry)) not in seen]
        sent = 0
        for name, entry in new:
            if name in seen:
                continue
            seen.add(name)
            state.seen.append(name)
            if (entry.published_at is None or now - entry.published_at <= OLDEST) and len(entry.url) <= MAX_URL:
                await self._send(_story(source, feed, entry, now))
                sent += 1
        del state.seen[:-KEPT]
        self.sent += sent
        return sent

    async def _follow(self, source: Source) -> None:
        state = self._states.setdefault(source.url, State())
        now = datetime.now(UTC)
        if state.due_at is None or state.due_at < now:
            state.due_at = now + timedelta(seconds=random.random() * SPREAD_S)  # noqa: S311 - to spread them
        while True:
            assert state.due_at is not None
            await asyncio.sleep(max(0.0, (state.due_at - datetime.now(UTC)).total_seconds()))
            await self.ask(source)

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(SAVE_S)
            self.save()

    def save(self) -> None:
        """Write down what was seen, whole or not at all."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(self._states))
        new.replace(self._path)


async def check(sources: Sequence[Source], fetcher: Fetcher) -> list[Checked]:
    """Ask each feed once, and say what it gave."""
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(source: Source) -> Checked:
        try:
            async with at_once:
                found = await fetcher.fetch(source.url)
            feed = await asyncio.to_thread(parse, found.body or b"", found.url, found.content_type)
        except (NotFetched, InvalidFeed) as error:
            return Checked(source, 0, None, str(error))
        newest = max((entry.published_at for entry in feed.entries if entry.published_at), default=None)
        return Checked(source, len(feed.entries), newest, "" if feed.entries else "it has no entries")

    return await asyncio.gather(*map(one, sources))


def _story(source: Source, feed: Feed, entry: Entry, now: datetime) -> Story:
    return Story(
        url=entry.url,
        title=entry.title,
        publisher=(entry.publisher or source.publisher or feed.title)[:MAX_PUBLISHER],
        crawled_at=now,
        language=source.language or entry.language or feed.language,
        published_at=entry.published_at,
    )


def _name(entry: Entry) -> str:
    """What an entry is known by: its address and title, so that a corrected headline is sent again."""
    return blake2b(f"{entry.url}\n{entry.title}".encode(), digest_size=9).hexdigest()


def _load(path: Path) -> dict[str, State]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, State])
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError:
        log.warning("state of the crawler is broken and begins anew", path=str(path))
        return {}
