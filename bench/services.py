"""Real Kafka, real Postgres and real workers for the benchmarks, each run on topics and a database of its own."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import sqlalchemy as sa

from pipeline.config import Settings
from pipeline.embedded.kafka import EmbeddedKafka
from pipeline.embedded.postgres import EmbeddedPostgres
from pipeline.kafka.admin import create_topics
from pipeline.kafka.producer import StoryProducer
from pipeline.kafka.progress import GroupProgress
from pipeline.records import Story
from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import migrate

WORKER = ("agents.worker",)
RUN_TIMEOUT_S = 600
"""Seconds that a run may take."""


@contextmanager
def services() -> Iterator[tuple[str, str]]:
    """Addresses of a Kafka and a Postgres that run while the context lasts."""
    with tempfile.TemporaryDirectory(prefix="newsburst-bench-") as folder, ExitStack() as stack:
        kafka, postgres = EmbeddedKafka(Path(folder) / "kafka"), EmbeddedPostgres(Path(folder) / "postgres")
        for service in (kafka, postgres):
            stack.callback(service.stop)
            service.start()
        yield kafka.bootstrap, postgres.uri


@contextmanager
def fresh(kafka: str, postgres: str, partitions: int = 2) -> Iterator[Settings]:
    """Settings with empty topics and an empty database of their own."""
    name = f"b{uuid.uuid4().hex[:8]}"
    engine = create_engine(postgres).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    uri = sa.make_url(postgres).set(database=name).render_as_string(hide_password=False)
    with tempfile.TemporaryDirectory(prefix="newsburst-bench-") as folder:
        settings = Settings(kafka=kafka, postgres=uri, topic_prefix=name, partitions=partitions, data=Path(folder))
        migrate(uri)
        asyncio.run(create_topics(settings))
        yield settings
    with engine.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


async def _produce(settings: Settings, stories: Sequence[Story]) -> None:
    async with StoryProducer(settings) as producer:
        for story in stories:
            await producer.send(story)
        await producer.flush()


def produce(settings: Settings, stories: Sequence[Story]) -> None:
    """Put stories on their topic."""
    asyncio.run(_produce(settings, stories))


@contextmanager
def process(settings: Settings, module: Sequence[str] = WORKER) -> Iterator[psutil.Process]:
    """A worker, or another module, as a process that lasts as long as the context."""
    log = settings.data / "process.log"
    folder = Path(__file__).parent.parent
    with log.open("ab") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", *module],
            env={**os.environ, **settings.environment(), "PYTHONPATH": str(folder)},
            cwd=settings.data,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield psutil.Process(child.pid)
        if child.poll() is not None:
            raise RuntimeError(f"{module[0]} has ended:\n{log.read_text()[-3000:]}")
    finally:
        child.terminate()
        try:
            child.wait(30)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def offsets(settings: Settings, topic: str) -> int:
    """How many offsets of a topic are used."""
    return asyncio.run(_offsets(settings, topic))


async def _offsets(settings: Settings, topic: str) -> int:
    async with GroupProgress(settings) as progress:
        return await progress.offsets(topic)


def wait_until(reached: Callable[[], bool], worker: psutil.Process, every: float = 0.05) -> None:
    """Look again and again until it is so; raises RuntimeError if the worker ends first, or it takes too long."""
    deadline = time.monotonic() + RUN_TIMEOUT_S
    while not reached():
        if not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE:
            raise RuntimeError("The worker has ended.")
        if time.monotonic() > deadline:
            raise RuntimeError(f"Not done in {RUN_TIMEOUT_S} s.")
        time.sleep(every)


def stored(settings: Settings) -> Callable[[], int]:
    """A function that says how many stories are in Postgres, with their clusters."""
    engine = create_engine(settings.postgres)
    count = sa.text("SELECT count(*) FROM news.cluster_stories")

    def look() -> int:
        with engine.connect() as connection:
            return int(connection.execute(count).scalar_one())

    return look
