"""Backup and restore as docs/reliability.md has them: the broker's folder is copied, Postgres is built again from the topics."""

import asyncio
import shutil

import sqlalchemy as sa
from aiokafka import AIOKafkaConsumer
from aiokafka.structs import OffsetAndMetadata

from pipeline.embedded.kafka import EmbeddedKafka
from pipeline.kafka.admin import admin, partitions
from pipeline.kafka.connection import connection
from pipeline.kafka.topics import group
from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import migrate
from tests.integration.helpers import wait_until_settled
from tests.reliability.feed import feed, messages
from tests.reliability.promise import judge, other_database
from tests.reliability.system import System
from tests.storage.dump import dump


def work(system, some_messages):
    """Have a worker deal with these and all that is there; returns the ids of the stories."""
    sent = asyncio.run(feed(system.settings, some_messages, 1))
    worker = system.start_worker()
    wait_until_settled(system.settings, worker.process)
    assert system.end_worker(worker)[0] == 0
    return sent


async def rewind(settings, topics):
    """Set the group of the workers, none of which runs, back to the beginning of these topics."""
    async with admin(settings) as client:
        found = await partitions(client, [settings.topic(topic) for topic in topics])
    consumer = AIOKafkaConsumer(**connection(settings), group_id=group(settings), enable_auto_commit=False)
    await consumer.start()
    consumer.assign(found)
    await consumer.commit({partition: OffsetAndMetadata(0, "") for partition in found})
    await consumer.stop()


def test_a_copy_of_the_brokers_folder_goes_on_and_postgres_is_built_again_from_it(tmp_path):
    first, second = messages(1_500, 1)[:1_000], messages(1_500, 1)[1_000:]
    with System(tmp_path) as system:
        sent = work(system, first)
        before = dump(system.settings.postgres)
        system.kafka.stop()
        shutil.copytree(tmp_path / "kafka", tmp_path / "backup")
        shutil.rmtree(tmp_path / "kafka")
        shutil.copytree(tmp_path / "backup", tmp_path / "kafka")
        system.kafka = EmbeddedKafka(tmp_path / "kafka", int(system.settings.kafka.partition(":")[2]))
        system.kafka.start()

        engine = create_engine(system.settings.postgres)
        with engine.begin() as connected:
            connected.execute(sa.text("DROP SCHEMA news CASCADE"))
        engine.dispose()
        migrate(system.settings.postgres)
        asyncio.run(rewind(system.settings, ["assignments", "clusters", "events"]))
        work(system, [])
        assert dump(system.settings.postgres) == before

        sent |= work(system, second)
        verdict = judge(system.settings, other_database(system.settings), sent)
    assert verdict.kept, verdict
    assert verdict.stories > 900
