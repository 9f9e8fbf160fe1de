"""`newsburst up`: embedded services and a worker, to build on."""

import asyncio
import time
from contextlib import suppress

import click

from pipeline.broker import create_topics
from pipeline.config import load
from pipeline.embedded.services import embedded_services
from pipeline.embedded.worker import start_worker
from pipeline.storage.migrate import migrate


@click.command()
def up() -> None:
    """Run Kafka, Postgres and a worker here until Ctrl-C; their data stay in the folder NEWSBURST_DATA.

    \b
    Example: newsburst up
             newsburst produce samples/uci_sample_3days.jsonl.gz     (in another terminal)
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    with suppress(KeyboardInterrupt), embedded_services(settings.data, "up") as services:
        settings = settings.model_copy(update={"kafka": services.kafka, "postgres": services.postgres})
        migrate(settings.postgres)
        asyncio.run(create_topics(settings))
        log = settings.data / "up" / "worker.log"
        worker = start_worker(settings, log)
        try:
            click.echo(
                f"Kafka     {settings.kafka}\nPostgres  {settings.postgres}\nWorker    log in {log}\nCtrl-C stops all."
            )
            while not worker.has_ended():
                time.sleep(0.5)
            raise click.ClickException(f"The worker ended; the end of {log}:\n{worker.last_words()}")
        finally:
            worker.stop()
