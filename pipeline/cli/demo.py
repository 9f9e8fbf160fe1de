"""`newsburst demo`: real Kafka, real Postgres and real stories, to watch."""

import asyncio
import shutil
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pipeline.broker import Gauge, StoryProducer, create_topics
from pipeline.cli.output import console, print_rows
from pipeline.cli.produce import Pace
from pipeline.config import Settings, load
from pipeline.embedded.guard import Guarded
from pipeline.embedded.services import embedded_services
from pipeline.embedded.worker import start_worker
from pipeline.files import load_stories
from pipeline.listen import listen
from pipeline.records import EventUpdate, Story, decode
from pipeline.storage.migrate import migrate
from pipeline.storage.read import Reader

SAMPLE = Path(__file__).parents[2] / "samples" / "uci_sample_3days.jsonl.gz"


@click.command()
@click.option(
    "--speed", type=click.FloatRange(min=0, min_open=True), help="Seconds of news a second: 3600 is an hour a second."
)
@click.option("--exit", "exit_", is_flag=True, help="End after the summary instead of staying up.")
@click.option(
    "--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the counts to this file."
)
@click.option(
    "--file", default=SAMPLE, type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Stories to play."
)
def demo(speed: float | None, exit_: bool, json_file: Path | None, file: Path) -> None:
    """Play 11,623 real stories through Kafka and watch events break; then query them in Postgres.

    The stories are of three days in March 2014; their arrival times are simulated. Afterwards Kafka, Postgres and the worker stay
    up until Ctrl-C, and the other commands in this folder find them.

    \b
    Example: newsburst demo --speed 3600
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    stories = load_stories(str(file), datetime.now(UTC), settings.language)
    console.print(f"Starting Kafka and Postgres in {settings.data / 'demo'} ...")
    shutil.rmtree(settings.data / "demo", ignore_errors=True)
    with suppress(KeyboardInterrupt), embedded_services(settings.data, "demo") as services:
        settings = settings.model_copy(
            update={"kafka": services.kafka, "postgres": services.postgres, "partitions": 1, "replication": 1}
        )
        migrate(settings.postgres)
        asyncio.run(create_topics(settings))
        worker = start_worker(settings, settings.data / "demo" / "worker.log")
        try:
            counts = asyncio.run(_play(settings, stories, speed, worker))
            if json_file is not None:
                json_file.write_bytes(msgspec.json.encode(counts) + b"\n")
            _stay(settings, worker, exit_)
        finally:
            worker.stop()


async def _play(settings: Settings, stories: list[Story], speed: float | None, worker: Guarded) -> dict[str, Any]:
    """Send the stories, show events as they break, and wait until every stage has done its part."""
    begin = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    reader = Reader(settings.postgres)
    dead = 0
    async with Gauge(settings) as gauge:
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
                    dead = await gauge.dead_letters()
                    count = await asyncio.to_thread(reader.count, "stories")
                    progress.update(stored, completed=count)
                    done = tasks[0].done() and count + dead >= len(stories) and await gauge.lag() == 0
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
    console.print("  ".join(f"[bold]{name.replace('_', ' ')}[/] {value}" for name, value in counts.items()))
    return counts


async def _send(settings: Settings, stories: list[Story], speed: float | None) -> None:
    pace = Pace(speed)
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
            f"[bold red]breaking[/] {update.at:%d %b %H:%M}  {escape(update.headline)}  "
            f"[dim]{update.stories_in_window} stories, {update.publishers_in_window} publishers, {waited:.1f} s after the story "
            f"that broke it[/]",
            soft_wrap=True,
        )


def _check(tasks: list[asyncio.Task[None]], worker: Guarded) -> None:
    """Raise what went wrong behind the scenes."""
    if worker.has_ended():
        raise click.ClickException(f"The worker ended; the end of {worker.log}:\n{worker.last_words()}")
    for task in tasks:
        if task.done():
            task.result()


def _stay(settings: Settings, worker: Guarded, exit_: bool) -> None:
    if exit_:
        return
    console.print(
        f"\nKafka     {settings.kafka}\nPostgres  {settings.postgres}\n\n"
        "Try in another terminal, in this folder:\n"
        "  newsburst report breaking\n  newsburst events --alerts\n"
        f"  psql {settings.postgres}\n\nCtrl-C stops all."
    )
    while not worker.has_ended():
        time.sleep(0.5)
