"""`newsburst up`: embedded services, a worker and the pages, to build on."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import click

from pipeline.config import Settings, load
from pipeline.embedded.guard import Guarded
from pipeline.embedded.processes import SAYS_READY, start_crawl, start_push, start_web, start_worker
from pipeline.embedded.services import embedded_services
from pipeline.kafka.admin import create_topics, mend_topics
from pipeline.storage.migrate import migrate
from pipeline.web import SAYS_READY as WEB_READY


@click.command("up")
@click.option("--kafka-port", type=click.IntRange(1, 65_535), help="Port of Kafka at 127.0.0.1; any free one without.")
@click.option("--postgres-port", type=click.IntRange(1, 65_535), help="Port of Postgres; any free one without.")
@click.option("--no-worker", is_flag=True, help="Only Kafka and Postgres, with topics and schema: run workers by hand.")
@click.option("--crawl", is_flag=True, help="Read public news feeds, too: a news monitor of one's own.")
@click.option("--no-web", is_flag=True, help="No pages: run `newsburst web` by hand.")
def up_command(kafka_port: int | None, postgres_port: int | None, no_worker: bool, crawl: bool, no_web: bool) -> None:
    """Run Kafka, Postgres, a worker and the pages here until Ctrl-C; their data stay in the folder NEWSBURST_DATA.

    What `newsburst subscribe` asks for is sent, too.

    \b
    Example: newsburst up
             newsburst up --crawl
             newsburst produce samples/uci_sample_3days.jsonl.gz     (in another terminal)
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    ports = kafka_port, postgres_port
    with suppress(KeyboardInterrupt), embedded_services(settings.data, "up", ports) as services:
        settings = settings.model_copy(update={"kafka": services.kafka, "postgres": services.postgres})
        migrate(settings.postgres)
        asyncio.run(create_topics(settings))
        asyncio.run(mend_topics(settings))
        click.echo(f"Kafka     {settings.kafka}\nPostgres  {settings.postgres}")
        if no_worker:
            click.echo("Ctrl-C stops both.")
            while True:
                time.sleep(0.5)
        with ExitStack() as stack:
            worker = _started(stack, start_worker, settings, settings.data / "up" / "worker.log")
            web = None if no_web else _started(stack, start_web, settings, settings.data / "up" / "web.log")
            push = _started(stack, start_push, settings, settings.data / "up" / "push.log")
            if crawl:
                _started(stack, start_crawl, settings, settings.data / "up" / "crawl.log")
            started = [worker, push] if web is None else [worker, push, web]
            if web is not None:
                _wait(started, lambda: WEB_READY in web.last_words(1_000))
                click.echo(f"Pages     {address(web)}")
            _wait(started, lambda: SAYS_READY in worker.last_words(1_000))
            click.echo(f"Worker    ready; log in {worker.log}\nCtrl-C stops all.")
            _wait(started, lambda: False)


def _started(stack: ExitStack, start: Callable[[Settings, Path], Guarded], settings: Settings, log: Path) -> Guarded:
    """A process that is stopped when the stack closes."""
    log.unlink(missing_ok=True)
    process = start(settings, log)
    stack.callback(process.stop)
    return process


def address(web: Guarded) -> str:
    """Where the web server says that it answers."""
    return web.last_words(1_000).partition(WEB_READY)[2].split()[0]


def _wait(processes: Sequence[Guarded], done: Callable[[], bool]) -> None:
    """Wait until something is done. Raises ClickException if one of the processes ends before."""
    while not done():
        for process in processes:
            if process.has_ended():
                raise click.ClickException(
                    f"The {process.log.stem} ended; the end of {process.log}:\n{process.last_words()}"
                )
        time.sleep(0.5)
