"""`newsburst up`: embedded services and a worker, to build on."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

import click

from pipeline.config import load
from pipeline.embedded.guard import Guarded
from pipeline.embedded.services import embedded_services
from pipeline.embedded.worker import SAYS_READY, start_worker
from pipeline.kafka.admin import create_topics, mend_topics
from pipeline.storage.migrate import migrate


@click.command("up")
@click.option("--kafka-port", type=click.IntRange(1, 65_535), help="Port of Kafka at 127.0.0.1; any free one without.")
@click.option("--postgres-port", type=click.IntRange(1, 65_535), help="Port of Postgres; any free one without.")
@click.option("--no-worker", is_flag=True, help="Only Kafka and Postgres, with topics and schema: run workers by hand.")
def up_command(kafka_port: int | None, postgres_port: int | None, no_worker: bool) -> None:
    """Run Kafka, Postgres and a worker here until Ctrl-C; their data stay in the folder NEWSBURST_DATA.

    \b
    Example: newsburst up
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
        log = settings.data / "up" / "worker.log"
        log.unlink(missing_ok=True)
        worker = start_worker(settings, log)
        try:
            _wait(worker, lambda: SAYS_READY in worker.last_words(1_000))
            click.echo(f"Worker    ready; log in {log}\nCtrl-C stops all.")
            _wait(worker, lambda: False)
        finally:
            worker.stop()


def _wait(worker: Guarded, done: Callable[[], bool]) -> None:
    """Wait until something is done. Raises ClickException if the worker ends before."""
    while not done():
        if worker.has_ended():
            raise click.ClickException(f"The worker ended; the end of {worker.log}:\n{worker.last_words()}")
        time.sleep(0.5)
