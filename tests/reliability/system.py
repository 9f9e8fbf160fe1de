"""A whole system to do harm to: a broker, a database and a crew of workers, each a process of its own."""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import sqlalchemy as sa

from pipeline.config import Settings
from pipeline.embedded.kafka import EmbeddedKafka
from pipeline.embedded.ports import free_ports
from pipeline.embedded.postgres import EmbeddedPostgres
from pipeline.kafka.admin import create_topics
from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import migrate

DRAIN = 10
"""Seconds in which a worker ends after SIGTERM."""


@contextlib.contextmanager
def folder_of_run(name, *, keep):
    """A folder that is deleted afterwards; with `keep` it stays when the run raises, be it to exit."""
    folder = Path(tempfile.mkdtemp(prefix=f"newsburst-{name}-"))
    try:
        yield folder
    except BaseException:
        if keep:
            sys.stderr.write(f"The logs are in {folder}.\n")
        else:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Worker:
    """A worker process with a log of its own."""

    process: subprocess.Popen
    log: Path
    frozen: bool = False

    @property
    def running(self):
        """Whether it has not ended."""
        return self.process.poll() is None

    def has_begun(self):
        """Whether it got as far as having partitions; before, a signal ends it as it ends any program."""
        return "partitions assigned" in self.log.read_text(errors="replace")


@dataclass
class System:
    """Broker, database, workers. Use it as a context: it ends all that it started."""

    folder: Path
    partitions: int = 4
    kafka: object = None
    """what to start in place of one embedded broker"""
    shared: bool = False
    """whether that runs already, and goes on after this"""
    replication: int = 1
    standby: bool = False
    """whether workers keep each other's states; a killed one is missed after a second then"""
    disk: str = ""
    """size of the database's disk, such as 2g; without it, that of this machine"""
    small_disk: bool = False
    """whether it has one of that size: only root can make one"""
    workers: list[Worker] = field(default_factory=list)
    gave_up: int = 0
    """workers that ended by themselves; a supervisor starts others"""

    def __enter__(self):
        self.kafka = self.kafka or EmbeddedKafka(self.folder / "kafka", free_ports(1)[0])
        self.postgres = EmbeddedPostgres(self.folder / "postgres", free_ports(1)[0])
        if self.disk:
            (self.folder / "postgres").mkdir()
            mount = ["mount", "-t", "tmpfs", "-o", f"size={self.disk},mode=755", "tmpfs", str(self.folder / "postgres")]
            self.small_disk = subprocess.run(mount, check=False, capture_output=True).returncode == 0
        try:
            if not self.shared:
                self.kafka.start()
            self.postgres.start()
            self.settings = Settings(
                kafka=self.kafka.bootstrap,
                postgres=self.postgres.uri,
                topic_prefix=f"s{uuid.uuid4().hex[:8]}" if self.shared else "soak",
                partitions=self.partitions,
                replication=self.replication,
                data=self.folder / "data",
                log_level="INFO",
                standby=self.standby,
                session_seconds=1.0 if self.standby else 6.0,
            )
            migrate(self.settings.postgres)
            asyncio.run(create_topics(self.settings))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for worker in self.workers:
            worker.process.kill()
            worker.process.wait()
        if not self.shared:
            self.kafka.stop()
        self.postgres.stop()
        if self.small_disk:
            subprocess.run(["umount", str(self.folder / "postgres")], check=True)

    def start_worker(self, *program):
        """Start one more; of another program, if one is given."""
        log = self.folder / f"worker-{time.monotonic_ns()}.log"
        folder = self.folder / "cwd"
        folder.mkdir(exist_ok=True)
        with log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, *(program or ("-m", "agents.worker"))],
                env={**os.environ, **self.settings.environment()},
                cwd=folder,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.workers.append(Worker(process, log))
        return self.workers[-1]

    def memory(self):
        """Bytes of the largest worker."""
        sizes = [0]
        for worker in self.workers:
            with contextlib.suppress(psutil.Error):
                sizes.append(psutil.Process(worker.process.pid).memory_info().rss)
        return max(sizes)

    def keep(self, count):
        """As a supervisor does: start workers until so many run."""
        for worker in [worker for worker in self.workers if not worker.running]:
            self.workers.remove(worker)
            self.gave_up += 1
            sys.stderr.write(f"A worker ended by itself with {worker.process.returncode}: {last_lines(worker.log)}\n")
        while len(self.workers) < count:
            self.start_worker()

    def kill_worker(self, worker):
        """SIGKILL."""
        worker.process.kill()
        worker.process.wait()
        self.workers.remove(worker)

    def end_worker(self, worker):
        """SIGTERM; returns its exit code and the seconds that it took to end."""
        start = time.monotonic()
        worker.process.send_signal(signal.SIGTERM)
        try:
            code = worker.process.wait(3 * DRAIN)
        except subprocess.TimeoutExpired:
            worker.process.kill()
            code = worker.process.wait()
        self.workers.remove(worker)
        return code, time.monotonic() - start

    def freeze(self, worker, frozen):
        """SIGSTOP or SIGCONT."""
        worker.process.send_signal(signal.SIGSTOP if frozen else signal.SIGCONT)
        worker.frozen = frozen

    def kill_broker(self):
        """SIGKILL, with all that it had not written."""
        kill(self.kafka._service)
        self.kafka.stop()

    def kill_database(self):
        """SIGKILL of the server process; Postgres recovers when it starts again."""
        kill(self.postgres._service)
        self.postgres.stop()

    def cut_connections(self):
        """End all sessions of the database, whatever they are at."""
        engine = create_engine(self.settings.postgres)
        with contextlib.suppress(sa.exc.DBAPIError), engine.connect() as connection:
            connection.execute(
                sa.text(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            )
        engine.dispose()

    def writing(self):
        """The workers that have a transaction open in the database."""
        engine = create_engine(self.settings.postgres)
        names = []
        with contextlib.suppress(sa.exc.DBAPIError), engine.connect() as connection:
            query = (
                "SELECT application_name FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid()"
            )
            names = list(connection.execute(sa.text(query)).scalars())
        engine.dispose()
        return [worker for worker in self.workers if f"newsburst {worker.process.pid}" in names]

    def fill_disk(self, seconds):
        """Leave the database's disk without a free byte for so long; returns False if its disk cannot be filled here."""
        if not self.small_disk:
            return False
        filler = self.folder / "postgres" / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 1_000_000)
        time.sleep(seconds)
        filler.unlink()
        if self.postgres._service.has_ended():
            self.postgres.stop()
            self.postgres.start()
        return True

    def rebalances(self):
        """How often the group of the workers was made anew: by the generations that they tell of."""
        logs = (log.read_text(errors="replace") for log in self.folder.glob("worker-*.log"))
        return len(
            {generation for log in logs for generation in re.findall(r"partitions assigned .*?generation=(\d+)", log)}
        )


def kill(service):
    """SIGKILL of a guarded service."""
    guard = psutil.Process(service._guard.pid)
    for child in guard.children():
        child.kill()
    guard.wait(30)
    service.stop()


def last_lines(log, count=12):
    """The end of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-count:])
