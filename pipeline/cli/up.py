"""`newsburst up`: embedded services, a worker and the pages, to build on."""

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import click

from pipeline.config import Settings, load
from pipeline.embedded.guard import Guarded
from pipeline.embedded.processes import SAYS_READY, start_crawl, start_push, start_web, start_worker
from pipeline.embedded.services import embedded_services
from pipeline.kafka.admin import create_topics, mend_topics
from pipeline.storage.migrate import migrate
from pipeline.web import SAYS_READY as WEB_READY

RESTART_S, LOOK_S = 5.0, 1.0
"""What ends is started again after so many seconds, and looked at so often."""
Start = Callable[[Settings, Path], Guarded]


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
            _wait(services.processes, lambda: False)
        with ExitStack() as stack:
            worker = _started(stack, start_worker, settings, settings.data / "up" / "worker.log")
            web = None if no_web else _web(stack, settings, worker)
            if web is not None:
                click.echo(f"Pages     {address(web)}")
            _wait([worker], lambda: SAYS_READY in worker.last_words(1_000))
            click.echo(f"Worker    ready; log in {worker.log}\nCtrl-C stops all.")
            starts = {"push": start_push, "crawl": start_crawl} if crawl else {"push": start_push}
            if web is not None:
                starts["web"] = partial(_again, start_web, address(web))
            needed = [worker, *services.processes]
            _keep(stack, settings, needed, starts, {} if web is None else {"web": web})


def _keep(
    stack: ExitStack,
    settings: Settings,
    needed: Sequence[Guarded],
    starts: Mapping[str, Start],
    running: dict[str, Guarded],
) -> None:
    """Start what goes on beside the worker, and start it again when it ends, until one of the needed processes ends."""
    for name, start in starts.items():
        if name not in running:
            running[name] = _started(stack, start, settings, settings.data / "up" / f"{name}.log")
    began = dict.fromkeys(starts, time.monotonic())
    while True:
        for name, process in running.items():
            if process.has_ended() and time.monotonic() - began[name] > RESTART_S:
                words = process.last_words().strip().splitlines()
                click.echo(f"{name} ended and is started again: {words[-1] if words else 'it says nothing'}", err=True)
                process.log.replace(process.log.with_suffix(".log.old"))
                running[name], began[name] = _started(stack, starts[name], settings, process.log), time.monotonic()
        _wait(needed, lambda: False, seconds=LOOK_S)


def _web(stack: ExitStack, settings: Settings, worker: Guarded) -> Guarded:
    """A web server that is ready, at any free port if somebody else took its own at the same moment."""
    log = settings.data / "up" / "web.log"
    web = _started(stack, start_web, settings, log)
    _wait([worker], lambda: WEB_READY in web.last_words(1_000) or web.has_ended())
    if web.has_ended():
        web = _started(stack, start_web, settings.model_copy(update={"web_port": 0}), log)
        _wait([worker, web], lambda: WEB_READY in web.last_words(1_000))
    return web


def _again(start: Start, at: str, settings: Settings, log: Path) -> Guarded:
    """Start a web server at the address where it was."""
    port = urlsplit(at).port or settings.web_port
    return start(settings.model_copy(update={"web_port": port}), log)


def _started(stack: ExitStack, start: Start, settings: Settings, log: Path) -> Guarded:
    """A process that is stopped when the stack closes."""
    log.unlink(missing_ok=True)
    process = start(settings, log)
    stack.callback(process.stop)
    return process


def address(web: Guarded) -> str:
    """Where the web server says that it answers."""
    return web.last_words(1_000).partition(WEB_READY)[2].split()[0].rstrip('",')


def _wait(processes: Sequence[Guarded], done: Callable[[], bool], seconds: float = math.inf) -> None:
    """Wait until something is done, or so long. Raises ClickException if one of the processes ends before."""
    until = time.monotonic() + seconds
    while not done() and time.monotonic() < until:
        for process in processes:
            if process.has_ended():
                raise click.ClickException(
                    f"The {process.log.stem} ended; the end of {process.log}:\n{process.last_words()}"
                )
        time.sleep(0.5)
