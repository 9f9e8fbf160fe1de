"""`newsburst crawl`: stories from feeds into Kafka."""

import asyncio
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import click

from pipeline.cli.output import counted, print_json, print_rows
from pipeline.config import Settings, load
from pipeline.crawl.crawl import AlreadyCrawling, Checked, Crawler, NotDelivered, check
from pipeline.crawl.fetch import Fetcher, without_password
from pipeline.crawl.opml import InvalidList, Source, read
from pipeline.kafka.admin import BrokerError
from pipeline.kafka.producer import StoryProducer
from pipeline.logs import announce, configure
from pipeline.records import Story

SHIPPED = Path(str(files("pipeline.crawl") / "feeds.opml"))
"""Public feeds of many countries."""
_IS_URL = re.compile(r"(https?://|feed:)", re.IGNORECASE)


@click.command("crawl")
@click.argument("feeds", nargs=-1, metavar="[FEED]...")
@click.option("--once", is_flag=True, help="Ask every feed once and end.")
@click.option("--check", "only_check", is_flag=True, help="Say which feeds answer, and send nothing.")
@click.option("--private", is_flag=True, help="Ask addresses of this network, too: for feeds of your own.")
@click.option("--json", "as_json", is_flag=True, help="With --check: a JSON list instead of a table.")
def crawl_command(feeds: tuple[str, ...], once: bool, only_check: bool, private: bool, as_json: bool) -> None:
    """Read feeds, politely and for ever, and send their stories to Kafka: RSS, Atom, JSON Feed, news sitemaps.

    FEED is a URL, or an OPML file of many; without any, it is the list that ships: 480 public feeds in 50 languages. Feeds are
    asked as often as they change, one connection a host, as robots.txt allows. NEWSBURST_DATA/crawl.json keeps what was seen.

    \b
    Example: newsburst crawl
             newsburst crawl feeds.opml https://www.example.com/rss
             newsburst crawl --check feeds.opml
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    configure(settings)
    sources = _sources(feeds or (str(SHIPPED),))
    with suppress(KeyboardInterrupt):
        if only_check:
            _print(asyncio.run(_check(sources, private)), as_json)
        else:
            sent = asyncio.run(_crawl(settings, sources, once, private))
            click.echo(f"{counted(sent, 'story', 'stories')} sent.")


def _sources(feeds: tuple[str, ...]) -> list[Source]:
    found: dict[str, Source] = {}
    for feed in feeds:
        try:
            some = [Source(_url(feed))] if _IS_URL.match(feed) else read(Path(feed))
        except InvalidList as error:
            raise click.UsageError(f"{error} FEED is a URL, or an OPML file.") from None
        found |= {source.url: source for source in some}
    return [*found.values()]


def _url(feed: str) -> str:
    """The address of a feed, also where it is written as browsers hand it to feed readers: `feed:https://...`, `feed://...`."""
    scheme, _, rest = feed.partition(":")
    if scheme.lower() != "feed":
        return f"{scheme.lower()}:{rest}"
    return rest if _IS_URL.match(rest) else f"https:{rest}"


async def _check(sources: list[Source], private: bool) -> list[Checked]:
    async with Fetcher(private=private) as fetcher:
        return await check(sources, fetcher)


async def _crawl(settings: Settings, sources: list[Source], once: bool, private: bool) -> int:
    async with StoryProducer(settings) as producer, Fetcher(private=private) as fetcher:

        async def deliver(stories: Sequence[Story]) -> None:
            try:
                await producer.deliver(stories)
            except BrokerError as error:
                raise NotDelivered(str(error)) from None

        try:
            crawler = Crawler(sources, settings.data / "crawl.json", deliver, fetcher)
        except (AlreadyCrawling, OSError) as error:
            raise click.ClickException(str(error)) from None
        announce(settings, f"{counted(len(sources), 'feed', 'feeds')}.", sys.stderr)
        if not once:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # supervisors take another code for a failure
        await (crawler.once() if once else crawler.run())
    if crawler.failed == len(sources):
        raise click.ClickException(
            "No feed could be read; the log above says why. `newsburst crawl --check` shows all."
        )
    return crawler.sent


def _print(found: list[Checked], as_json: bool) -> None:
    rows = [
        {
            "url": without_password(one.source.url),
            "publisher": one.source.publisher,
            "language": one.source.language,
            "entries": one.entries,
            "newest": one.newest,
            "problem": one.problem,
        }
        for one in found
    ]
    answering = sum(not row["problem"] for row in rows)
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, ["url", "entries", "newest", "problem"], f"{answering} of {len(rows)} feeds answer")
    if not answering:
        sys.exit(1)
