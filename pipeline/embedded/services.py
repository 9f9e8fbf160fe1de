"""Both embedded services together, and the note that tells other commands where they are."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.config import running_services
from pipeline.embedded.kafka import EmbeddedKafka
from pipeline.embedded.postgres import EmbeddedPostgres


class AlreadyRunning(RuntimeError):
    """Embedded services already run on this folder."""


@dataclass(frozen=True, slots=True)
class Services:
    """Where the running services are."""

    kafka: str
    postgres: str


@contextmanager
def embedded_services(data: Path, name: str) -> Iterator[Services]:
    """Run Kafka and Postgres on `data / name` while the context lasts; `data / "services.json"` says where they are.

    Raises AlreadyRunning, KafkaUnavailable and PostgresUnavailable.
    """
    running = running_services(data)
    if running:
        raise AlreadyRunning(
            f"Embedded services already run on {data} (process {running['pid']}): Kafka at {running['kafka']}, Postgres at "
            f"{running['postgres']}. Stop that process, or set NEWSBURST_DATA to another folder."
        )
    folder = data / name
    folder.mkdir(parents=True, exist_ok=True)
    note = data / "services.json"
    with ExitStack() as stack:
        kafka = EmbeddedKafka(folder / "kafka")
        stack.callback(kafka.stop)
        kafka.start()
        postgres = EmbeddedPostgres(folder / "postgres")
        stack.callback(postgres.stop)
        postgres.start()
        stack.callback(note.unlink, missing_ok=True)
        services = Services(kafka.bootstrap, postgres.uri)
        note.write_text(
            json.dumps({"kafka": services.kafka, "postgres": services.postgres, "pid": str(os.getpid())}),
            encoding="utf-8",
        )
        yield services
