"""`newsburst produce`: stories from a file to Kafka."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from pipeline.cli.output import counted
from pipeline.config import Settings, load
from pipeline.files import Line, read_stories
from pipeline.kafka.producer import StoryProducer
from pipeline.printed import shown
from pipeline.times import to_micros


@click.command("produce")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option(
    "--speed", type=click.FloatRange(min=0, min_open=True), help="Seconds of crawl time a second; else at full speed."
)
@click.option("--quiet", is_flag=True, help="No progress bar.")
def produce_command(file: str, speed: float | None, quiet: bool) -> None:
    """Send the stories of FILE to Kafka: one JSON object a line, plain or gzip; - is standard input.

    A line that is not a valid story is refused with its number and the reason, and not sent; the others are. Exits with 1 when a
    line was refused.

    \b
    Example: newsburst produce samples/uci_sample_3days.jsonl.gz
             zcat crawl.jsonl.gz | newsburst produce -
    """  # noqa: D301 - \b is click's mark for lines to keep
    stream = not Path(file).is_file()
    sent, refused = asyncio.run(_produce(load(), file, speed, quiet, stream=stream))
    bad = f", {counted(refused, 'line', 'lines')} refused" if refused else ""
    click.echo(f"{counted(sent, 'story', 'stories')} sent{bad}.", err=True)
    if refused:
        raise SystemExit(1)


async def _produce(settings: Settings, file: str, speed: float | None, quiet: bool, *, stream: bool) -> tuple[int, int]:
    sent = refused = 0
    console = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    total = _count_lines(file)
    pace = Pace(speed)
    async with StoryProducer(settings) as producer:
        with Progress(*columns, console=console, disable=quiet) as progress:
            task = progress.add_task("stories", total=total)
            async for line in _lines(file, settings.language, stream=stream):
                if line.story is None:
                    refused += 1
                    console.print(Text(shown(f"line {line.number}: {line.error}")), soft_wrap=True)
                else:
                    await pace.wait(line.story.crawled_at)
                    await producer.send(line.story)
                    sent += 1
                progress.advance(task)
            await producer.flush()
    return sent, refused


async def _lines(file: str, language: str, *, stream: bool) -> AsyncIterator[Line]:
    """The lines of a file. Those of a stream are waited for in a thread, so that what has come is on its way meanwhile."""
    lines = read_stories(file, None, language)
    if not stream:
        for line in lines:
            yield line
        return
    while (read := await asyncio.to_thread(next, lines, None)) is not None:
        yield read


class Pace:
    """Holds stories back so that `speed` seconds of crawl time pass in a second; None: not at all."""

    def __init__(self, speed: float | None) -> None:
        self._speed = speed
        self._first: tuple[float, int] | None = None

    async def wait(self, crawled_at: datetime) -> None:
        """Wait until it is this story's turn."""
        if self._speed is None:
            return
        if self._first is None:
            self._first = (time.monotonic(), to_micros(crawled_at))
        begin, first = self._first
        due = begin + (to_micros(crawled_at) - first) / 1e6 / self._speed
        await asyncio.sleep(max(0.0, due - time.monotonic()))


def _count_lines(file: str) -> int | None:
    """How many lines a plain file has; None where one would have to read a stream or unpack to know."""
    if file.endswith(".gz") or not Path(file).is_file():
        return None
    with Path(file).open("rb") as lines:
        return sum(1 for _ in lines)
