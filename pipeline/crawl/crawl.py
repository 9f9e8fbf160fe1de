"""The crawler: asks each feed when it is due, and puts what is new into Kafka.

What was seen is kept in a file, so that a crawler that is started again sends nothing twice and asks only for what has changed.
"""

import asyncio
import fcntl
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import IO, NamedTuple

import msgspec
import structlog

from pipeline.crawl.fetch import Fetcher, NotFetched, without_password
from pipeline.crawl.interval import SHORTEST, after_failure, next_interval
from pipeline.crawl.opml import Source
from pipeline.crawl.parse import Entry, Feed, InvalidFeed, parse
from pipeline.records import LANGUAGE_TAG, MAX_PUBLISHER, MAX_URL, Story

AT_ONCE = 20
"""Feeds that are asked at once."""
KEPT = 3_000
"""Entries of a feed that are remembered: more than any feed has at a time."""
CLOCKS = timedelta(hours=1)
"""An entry that says it was published longer from now than this does not know when it was."""
_TAG = re.compile(LANGUAGE_TAG)
OLDEST = timedelta(days=3)
"""An entry that says it was published longer ago than this is not news."""
LONGEST_PAUSE = timedelta(hours=12)
"""A feed that was not read for so long is read as if for the first time."""
SAVE_S = 30.0
SPREAD_S = 20.0
"""Within this time the feeds are asked first, so that not all are asked at once."""

log = structlog.get_logger()
Deliver = Callable[[Sequence[Story]], Awaitable[None]]
"""Sends stories; when it returns, they are safe. Raises NotDelivered."""


class NotDelivered(RuntimeError):
    """Stories could not be sent; they are sent when their feed is read again."""


class AlreadyCrawling(RuntimeError):
    """Another crawler writes down in the same file what it has seen."""


class State(msgspec.Struct):
    """What is known of a feed."""

    etag: str | None = None
    modified: str | None = None
    interval_s: float | None = None
    due_at: datetime | None = None
    failures: int = 0
    seen: dict[str, str] = {}
    """by the name of an entry's address, that of its title: the oldest first"""
    read_at: datetime | None = None


class Checked(NamedTuple):
    """What came of asking a feed once."""

    source: Source
    entries: int
    newest: datetime | None
    problem: str


class Crawler:
    """Crawls some feeds."""

    def __init__(self, sources: Sequence[Source], state: Path, deliver: Deliver, fetcher: Fetcher) -> None:
        """State is kept in that file; `deliver` takes what is new in a feed.

        Raises OSError where the file cannot be read, and AlreadyCrawling.
        """
        self._sources, self._path, self._deliver, self._fetcher = sources, state, deliver, fetcher
        self._lock = _locked(state)
        self._states = _load(state)
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self.sent = 0
        """stories so far"""
        self.failed = 0
        """feeds that could not be read, or not be sent on, when they were asked last"""

    async def run(self) -> None:
        """Crawl for ever."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for source in self._sources:
                    tasks.create_task(self._follow(source))
                tasks.create_task(self._keep())
        finally:
            self._end()

    async def once(self) -> None:
        """Ask every feed once."""
        try:
            await asyncio.gather(*(self.ask(source) for source in self._sources))
        finally:
            self._end()

    async def ask(self, source: Source) -> None:
        """Ask a feed, send what is new in it, and note when it is due again."""
        state = self._states.setdefault(source.url, State())
        try:
            wait = await self._read(source, state)
        except (NotFetched, InvalidFeed, NotDelivered) as error:
            wait = self._failed(source, state, str(error), getattr(error, "after", None))
        except Exception as error:  # whatever a server answers, the other feeds go on
            log.exception("feed not read", url=without_password(source.url))
            wait = self._failed(source, state, repr(error), None)
        state.due_at = datetime.now(UTC) + wait

    async def _read(self, source: Source, state: State) -> timedelta:
        """Ask a feed and send what is new in it; returns when it wants to be asked again."""
        async with self._at_once:
            found = await self._fetcher.fetch(source.url, state.etag, state.modified)
            feed = (
                None
                if found.body is None
                else await asyncio.to_thread(parse, found.body, found.url, found.content_type)
            )
        new = 0 if feed is None else await self._take(source, state, feed)
        before = None if state.interval_s is None else timedelta(seconds=state.interval_s)
        wait = next_interval(before, new, found.after or SHORTEST)
        self.failed -= bool(state.failures)
        state.interval_s, state.failures = wait.total_seconds(), 0
        state.etag, state.modified = found.etag, found.modified
        return wait

    def _failed(self, source: Source, state: State, why: str, after: timedelta | None) -> timedelta:
        """Note that a feed was not read; returns when it is asked again."""
        self.failed += not state.failures
        state.failures += 1
        wait = after_failure(state.failures, after or SHORTEST)
        log.warning(
            "feed not read", url=without_password(source.url), error=why, failures=state.failures, again_in=str(wait)
        )
        return wait

    async def _take(self, source: Source, state: State, feed: Feed) -> int:
        """Send the entries of a feed that are new; returns how many. They count as seen when the broker has them."""
        now = datetime.now(UTC)
        seen = dict(state.seen)
        is_first = state.read_at is None or now - state.read_at > LONGEST_PAUSE
        stories: list[Story] = []
        for entry in reversed(feed.entries):
            address, title = _name(entry.url), _name(entry.title)
            if seen.get(address) == title:
                continue
            seen.pop(address, None)  # what is corrected counts as seen last
            seen[address] = title
            if (entry.published_at is None or now - entry.published_at <= OLDEST) and len(entry.url) <= MAX_URL:
                stories.append(_story(source, feed, entry, now, is_first=is_first))
        if stories:
            await self._deliver(stories)
        state.seen = dict([*seen.items()][-KEPT:])
        state.read_at = now
        self.sent += len(stories)
        return len(stories)

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

    def _end(self) -> None:
        self.save()
        self._lock.close()

    def save(self) -> None:
        """Write down what was seen, whole or not at all."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        new.touch(mode=0o600)  # addresses of feeds may hold passwords
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
        except Exception as error:
            log.exception("feed not read", url=without_password(source.url))
            return Checked(source, 0, None, repr(error))
        newest = max((entry.published_at for entry in feed.entries if entry.published_at), default=None)
        return Checked(source, len(feed.entries), newest, "" if feed.entries else "it has no entries")

    return await asyncio.gather(*map(one, sources))


def _story(source: Source, feed: Feed, entry: Entry, now: datetime, *, is_first: bool) -> Story:
    """The story of an entry.

    What is in a feed when it is read for the first time came in the course of days: it was published when it says so, and not all
    at once now, which would look like a breaking event.
    """
    published_at = entry.published_at if entry.published_at and entry.published_at <= now + CLOCKS else None
    languages = (source.language, entry.language, feed.language)
    return Story(
        url=entry.url,
        title=entry.title,
        publisher=(entry.publisher or source.publisher or feed.title)[:MAX_PUBLISHER],
        crawled_at=min(now, published_at) if is_first and published_at else now,
        language=next((language for language in languages if language and _TAG.fullmatch(language)), None),
        published_at=published_at,
    )


def _name(text: str) -> str:
    return blake2b(text.encode(errors="replace"), digest_size=9).hexdigest()


def _locked(path: Path) -> IO[bytes]:
    """A lock on the state, which ends with this process. Raises AlreadyCrawling."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_suffix(".lock").open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise AlreadyCrawling(
            f"Another crawler keeps in {path} what it has seen. End it, or set NEWSBURST_DATA to a folder of its own."
        ) from None
    return lock


def _load(path: Path) -> dict[str, State]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, State])
    except FileNotFoundError:
        return {}
    except msgspec.MsgspecError:
        log.warning("state of the crawler is broken and begins anew", path=str(path))
        return {}
