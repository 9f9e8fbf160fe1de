"""A worker as a process, and what the integration tests read."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from pipeline.kafka.admin import admin, create_topics, partitions
from pipeline.kafka.connection import connection
from pipeline.kafka.progress import GroupProgress
from pipeline.storage.migrate import migrate


def make_topics(settings):
    """Make the topics."""
    asyncio.run(create_topics(settings))


def prepare(settings):
    """Make the topics and the schema."""
    migrate(settings.postgres)
    make_topics(settings)


@contextmanager
def worker(settings, log):
    """A worker that runs while the context lasts, and ends by SIGTERM with exit code 0."""
    process = start(settings, log)
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, log.read_text()[-3000:]
    finally:
        process.kill()
        process.wait()


def start(settings, log):
    """Start a worker process."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "agents.worker"],
            env={**os.environ, **settings.environment()},
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def last_words(**environment):
    """Run a worker to its end; returns its exit code and what it said."""
    ended = subprocess.run(
        [sys.executable, "-m", "agents.worker"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


def wait_for(condition, seconds=60):
    """Wait until it is so; returns what the condition then gives."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "It did not happen in time."
        time.sleep(0.05)
    return value


async def _send(settings, topic, messages):
    producer = AIOKafkaProducer(**connection(settings), acks="all", enable_idempotence=True, max_request_size=2**21)
    await producer.start()
    for key, value in messages:
        await producer.send(settings.topic(topic), value, key=key)
    await producer.stop()


def send(settings, topic, messages):
    """Send (key, value) messages."""
    asyncio.run(_send(settings, topic, messages))


async def _settled(settings, process, seconds):
    deadline = time.monotonic() + seconds
    async with GroupProgress(settings) as progress:
        while True:
            assert process.poll() is None, "The worker has ended."
            lag = await progress.lag()
            if lag == 0:
                return
            assert time.monotonic() < deadline, f"Not settled in {seconds} s: {lag} records are left."
            await asyncio.sleep(0.3)


def wait_until_settled(settings, process, seconds=200):
    """Wait until the worker has finished with all that was sent."""
    asyncio.run(_settled(settings, process, seconds))


async def _read(settings, name):
    async with admin(settings) as client:
        found = await partitions(client, [name])
    consumer = AIOKafkaConsumer(**connection(settings), enable_auto_commit=False, isolation_level="read_committed")
    await consumer.start()
    try:
        consumer.assign(found)
        await consumer.seek_to_beginning(*found)
        ends = await consumer.end_offsets(found)
        records = []
        while any([await consumer.position(partition) < ends[partition] for partition in found]):
            for batch in (await consumer.getmany(timeout_ms=500)).values():
                records += batch
        return records
    finally:
        await consumer.stop()


def read(settings, topic):
    """All records of a topic."""
    return asyncio.run(_read(settings, settings.topic(topic)))
