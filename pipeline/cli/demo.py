"""`newsburst demo`: real Kafka, real Postgres and real stories, to watch."""

import asyncio
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from pipeline.cli.output import console, print_rows
from pipeline.cli.produce import Pace
from pipeline.cli.up import address
from pipeline.codec import decode
from pipeline.config import Settings, load
from pipeline.embedded.guard import Guarded
from pipeline.embedded.processes import start_web, start_worker
from pipeline.embedded.services import embedded_services
from pipeline.files import load_stories
from pipeline.kafka.admin import create_topics
from pipeline.kafka.producer import StoryProducer
from pipeline.kafka.progress import GroupProgress
from pipeline.kafka.read import listen
from pipeline.printed import shown
from pipeline.records import EventUpdate, Story
from pipeline.storage.migrate import migrate
from pipeline.storage.read import Reader
from pipeline.web import SAYS_READY as WEB_READY

NAME = "uci_sample_3days.jsonl.gz"
SAMPLE = next(
    (path for up in (1, 2) if (path := Path(__file__).parents[up] / "samples" / NAME).exists()), Path("samples") / NAME
)
"""The sample: beside the packages in a checkout, within this one in a wheel."""


@click.command("demo")
@click.option(
    "--speed",
    type=click.FloatRange(min=0),
    default=3600,
    show_default=True,
    help="Seconds of news a second: 3600 is an hour a second; 0: as fast as this machine can.",
)
@click.option("--exit", "exit_", is_flag=True, help="End after the summary instead of staying up.")
@click.option(
    "--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the counts to this file."
)
@click.option(
    "--file", default=SAMPLE, type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Stories to play."
)
def demo_command(speed: float, exit_: bool, json_file: Path | None, file: Path) -> None:
    """Play 11,623 real stories through Kafka and watch events break; then query them in Postgres.

    The stories are of three days in March 2014; their arrival times are simulated. Afterwards Kafka, Postgres and the worker stay
    up until Ctrl-C, and the other commands in this folder find them.

    \b
    Example: newsburst demo --speed 600
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    stories = load_stories(str(file), datetime.now(UTC), settings.language)
    console.print(f"Starting Kafka and Postgres in {settings.data / 'demo'} (at first 50 MB are fetched) ...")
    with suppress(KeyboardInterrupt), embedded_services(settings.data, "demo", clear=True) as services:
        settings = settings.model_copy(
            update={"kafka": services.kafka, "postgres": services.postgres, "partitions": 1, "replication": 1}
        )
        migrate(settings.postgres)
        asyncio.run(create_topics(settings))
        worker = start_worker(settings, settings.data / "demo" / "worker.log")
        web = start_web(settings, settings.data / "demo" / "web.log")
        try:
            _show_address(web)
            counts = asyncio.run(_play(settings, stories, speed, worker))
            if json_file is not None:
                json_file.write_bytes(msgspec.json.encode(counts) + b"\n")
            _stay(settings, worker, web, exit_)
        finally:
            worker.stop()
            web.stop()


def _show_address(web: Guarded) -> None:
    """Say where the pages are, once they are there."""
    while WEB_READY not in web.last_words(1_000):
        _check([], web)
        time.sleep(0.2)
    console.print(Text.assemble("Watch it at ", (address(web), "bold underline"), " while the stories come in."))


async def _play(settings: Settings, stories: list[Story], speed: float, worker: Guarded) -> dict[str, Any]:
    """Send the stories, show events as they break, and wait until every stage has done its part."""
    begin = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    reader = Reader(settings.postgres)
    dead = 0
    async with GroupProgress(settings) as workers:
        with Progress(*columns, console=console) as progress:
            stored = progress.add_task("stories in Postgres", total=len(stories))
            tasks = [
                asyncio.create_task(_send(settings, stories, speed)),
                asyncio.create_task(_show_alerts(settings, progress)),
            ]
            try:
                done = False
                while not done:
                    await asyncio.sleep(0.5)
                    _check(tasks, worker)
                    dead = await workers.dead_letters()
                    count = await asyncio.to_thread(reader.count, "stories")
                    progress.update(stored, completed=count)
                    done = tasks[0].done() and count + dead >= len(stories) and await workers.lag() == 0
                await asyncio.sleep(0.5)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
    counts = {
        "stories": reader.count("stories"),
        "clusters": reader.count("clusters"),
        "events": reader.count("events"),
        "dead_letters": dead,
        "seconds": round(time.monotonic() - begin, 1),
    }
    events = sorted(reader.events(), key=lambda event: -event["stories_total"])[:10]
    reader.close()
    columns_shown = ["headline", "stories_total", "first_seen", "last_seen", "state", "id"]
    print_rows(events, columns_shown, "The ten largest events")
    console.print("  ".join(f"{name.replace('_', ' ')} {value}" for name, value in counts.items()))
    return counts


async def _send(settings: Settings, stories: list[Story], speed: float) -> None:
    pace = Pace(speed or None)
    async with StoryProducer(settings) as producer:
        for story in stories:
            await pace.wait(story.crawled_at)
            await producer.send(story)
        await producer.flush()


async def _show_alerts(settings: Settings, progress: Progress) -> None:
    async for record in listen(settings, ["events"], follow=True):
        update = decode(record.value, EventUpdate)
        if update.state != "started":
            continue
        waited = (datetime.now(UTC) - update.caused_by_received_at).total_seconds()
        progress.console.print(
            Text.assemble(
                ("breaking ", "bold red"),
                f"{update.at:%d %b %H:%MZ}  {shown(update.headline)}  ",
                (f"{update.stories_in_window} stories, {update.publishers_in_window} publishers, ", "dim"),
                (f"{waited:.1f} s after the story that broke it", "dim"),
            ),
            soft_wrap=True,
        )


def _check(tasks: list[asyncio.Task[None]], process: Guarded) -> None:
    """Raise what went wrong behind the scenes."""
    if process.has_ended():
        raise click.ClickException(f"The {process.log.stem} ended; the end of {process.log}:\n{process.last_words()}")
    for task in tasks:
        if task.done():
            task.result()


def _stay(settings: Settings, worker: Guarded, web: Guarded, exit_: bool) -> None:
    if exit_:
        return
    console.print(
        f"\nPages     {address(web)}\nKafka     {settings.kafka}\nPostgres  {settings.postgres}\n\n"
        "Try in another terminal, in this folder:\n"
        "  newsburst report breaking\n  newsburst events --alerts\n"
        f"  psql {settings.postgres}\n\nCtrl-C stops all."
    )
    while True:
        _check([], worker)
        _check([], web)
        time.sleep(0.5)
