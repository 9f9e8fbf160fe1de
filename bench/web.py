"""Live pages: open pages by the hundred while stories come in, and what they cost the worker."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import aiohttp

from bench.figures import Figure, absolute, figure
from bench.news import week
from bench.services import fresh, offsets, process, produce, services, stored, wait_until
from pipeline.codec import decode
from pipeline.config import Settings
from pipeline.kafka.producer import StoryProducer
from pipeline.kafka.read import listen
from pipeline.records import EventUpdate, Story
from pipeline.web import SAYS_READY

PAGES = 200
"""Pages that are open at once."""
RATE = 500
"""Stories a second."""
PAGE_MS, EVENT_MS = 300.0, 1_000.0
"""What 99 of 100 pages, and half of the updates on a page, may take."""
SHARE = 0.95
"""Of the throughput of a worker alone, what it keeps."""


def figures(*, quick: bool) -> Iterable[Figure]:
    """Pages, live updates, and the worker's throughput with and without."""
    stories = week()[: 6_000 if quick else 30_000]
    with services() as (kafka, postgres):
        alone, beside = [], []
        for _ in range(1 if quick else 3):
            with fresh(kafka, postgres) as settings:
                alone.append(_throughput(settings, stories))
            with fresh(kafka, postgres) as settings, _web(settings) as address:
                beside.append(asyncio.run(_beside(settings, address, stories)))
        with fresh(kafka, postgres) as settings, _web(settings) as address:
            found = asyncio.run(_live(settings, address, stories, 10 if quick else 60))
    pages, delays, whole = found
    at = f"{PAGES} open pages, {RATE} stories/s"
    yield absolute(f"{at}: a page, 99 of 100", "300 ms", [_share(pages, 0.99)], PAGE_MS, "ms")
    yield absolute(f"{at}: an update on an open page, median", "1 s", [_share(delays, 0.5)], EVENT_MS, "ms")
    yield absolute(f"{at}: an update on an open page, 99 of 100", "3 s", [_share(delays, 0.99)], 3 * EVENT_MS, "ms")
    yield absolute(f"{at}: last updates that pages show, of all", "all", [whole], 1.0, "", at_most=False)
    ratio = sorted(here / there for here, there in zip(beside, alone, strict=True))[len(alone) // 2]
    yield figure(
        f"throughput of a worker beside {PAGES} open pages", "the worker alone", beside, alone, "stories/s", ratio, SHARE,
        at_most=False,
    )  # fmt: skip


@contextmanager
def _web(settings: Settings) -> Iterator[str]:
    """The address of a web server that runs while the context lasts."""
    log = Path(settings.data) / "web.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "pipeline.command", "web", "--port", "0"],
            env={**os.environ, **settings.environment()},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        while not (found := re.search(f"{SAYS_READY}(\\S+)/", log.read_text())):
            assert server.poll() is None, log.read_text()
            time.sleep(0.05)
        yield found[1]
    finally:
        server.terminate()
        server.wait()


class _Pages:
    """Pages as a browser keeps them: the stream of cards, and which update of each event each page shows."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session, self._address = session, address
        self.shown: list[dict[str, int]] = [{} for _ in range(PAGES)]
        self.at: dict[tuple[str, int], list[float]] = {}

    async def follow(self, page: int) -> None:
        """Be one open page."""
        async with self._session.get(f"{self._address}/live?since=0:0") as answer:
            async for line in answer.content:
                if line.startswith(b'data: {"id"'):
                    card = json.loads(line[6:])
                    shown = self.shown[page]
                    shown[card["id"]] = max(card["sequence"], shown.get(card["id"], 0))
                    self.at.setdefault((card["id"], card["sequence"]), []).append(time.time())


def _throughput(settings: Settings, stories: list[Story]) -> float:
    """Stories a second, from the first that is normalised to the last in Postgres."""
    produce(settings, stories)
    with process(settings) as worker:
        look = stored(settings)
        wait_until(lambda: offsets(settings, "normalised") > 0, worker, 0.01)
        start = time.perf_counter()
        wait_until(lambda: look() >= len(stories), worker)
        return len(stories) / (time.perf_counter() - start)


async def _beside(settings: Settings, address: str, stories: list[Story]) -> float:
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=timeout, read_bufsize=2**20
    ) as session:
        pages = _Pages(session, address)
        following = [asyncio.create_task(pages.follow(page)) for page in range(PAGES)]
        rate = await asyncio.to_thread(_throughput, settings, stories)
        await _end(following)
    return rate


async def _live(
    settings: Settings, address: str, stories: list[Story], seconds: int
) -> tuple[list[float], list[float], float]:
    """Milliseconds of pages, of updates on their way to each page, and the share of last updates that pages show."""
    taken_in: dict[tuple[str, int], float] = {}
    timeout = aiohttp.ClientTimeout(total=None)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, read_bufsize=2**20) as session:
        pages = _Pages(session, address)

        async def read_topic() -> None:
            async for record in listen(settings, ["events"], follow=True):
                update = decode(record.value, EventUpdate)
                taken_in[update.event_id, update.sequence] = record.timestamp / 1_000

        with process(settings) as worker:
            async with StoryProducer(settings) as producer:
                for story in stories[:2_000]:
                    await producer.send(story)
                await producer.flush()
                look = stored(settings)
                await asyncio.to_thread(wait_until, lambda: look() >= 2_000, worker)
                following = [asyncio.create_task(pages.follow(page)) for page in range(PAGES)]
                others = [asyncio.create_task(read_topic())]
                await asyncio.sleep(3)
                loader = _loader(address)
                pages.at.clear()
                start = time.perf_counter()
                for number, story in enumerate(stories[2_000 : 2_000 + RATE * seconds]):
                    await asyncio.sleep(max(0.0, start + number / RATE - time.perf_counter()))
                    await producer.send(story)
                await producer.flush()
                said, _ = await asyncio.to_thread(loader.communicate, b"")
                await asyncio.sleep(8)
                await _end([*following, *others])
    loads = [took for _, took in json.loads(said)]
    delays = [(at - taken_in[key]) * 1_000 for key, times in pages.at.items() if key in taken_in for at in times]
    last: dict[str, int] = {}
    for event, sequence in taken_in:
        last[event] = max(sequence, last.get(event, 0))
    right = sum(shown.get(event) == sequence for shown in pages.shown for event, sequence in last.items())
    return loads, delays, right / (PAGES * len(last))


def _loader(address: str) -> subprocess.Popen[bytes]:
    """A process that loads pages until its input ends."""
    command = [sys.executable, "-m", "bench.load_pages", address]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await task


def _share(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]
