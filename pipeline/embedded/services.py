"""Both embedded services together, and the note that tells other commands where they are."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.config import running_services
from pipeline.embedded.guard import Guarded
from pipeline.embedded.kafka import EmbeddedKafka
from pipeline.embedded.postgres import EmbeddedPostgres


class AlreadyRunning(RuntimeError):
    """Embedded services already run on this folder."""


@dataclass(frozen=True, slots=True)
class Services:
    """Where the running services are."""

    kafka: str
    postgres: str
    processes: Sequence[Guarded]


@contextmanager
def embedded_services(
    data: Path, name: str, ports: tuple[int | None, int | None] = (None, None), *, clear: bool = False
) -> Iterator[Services]:
    """Run Kafka and Postgres on `data / name` while the context lasts; `data / "services.json"` says where they are.

    `ports` are those of Kafka and Postgres, any free ones where None. With `clear`, what an earlier run left is deleted first,
    but not while one is running.
    Raises AlreadyRunning, KafkaUnavailable and PostgresUnavailable.
    """
    data.mkdir(parents=True, exist_ok=True)
    folder, note = data / name, data / "services.json"
    with ExitStack() as stack:
        lock = stack.enter_context((data / "lock").open("w"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            running = running_services(data) or {"pid": "?", "kafka": "?", "postgres": "?"}
            raise AlreadyRunning(
                f"Embedded services already run on {data}, or just start (process {running['pid']}, Kafka at {running['kafka']})."
                " Stop that process, or set NEWSBURST_DATA to another folder."
            ) from None
        if clear:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(exist_ok=True)
        kafka = EmbeddedKafka(folder / "kafka", ports[0])
        stack.callback(kafka.stop)
        kafka.start()
        postgres = EmbeddedPostgres(folder / "postgres", ports[1])
        stack.callback(postgres.stop)
        postgres.start()
        stack.callback(note.unlink, missing_ok=True)
        services = Services(kafka.bootstrap, postgres.uri, (kafka.process, postgres.process))
        found = json.dumps({"kafka": services.kafka, "postgres": services.postgres, "pid": str(os.getpid())})
        note.unlink(missing_ok=True)
        with os.fdopen(os.open(note, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(found)  # the password is for who may read our files
        yield services
