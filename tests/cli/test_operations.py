"""`topics`, `migrate`, `doctor` and `seek`: what operators do."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from pipeline.cli import doctor
from pipeline.config import Settings
from pipeline.kafka.admin import admin
from pipeline.kafka.topics import all_topics
from pipeline.times import from_millis
from tests import sample
from tests.cli.run import GOOD, run
from tests.integration.helpers import _read, prepare, read, send, wait_for


@pytest.fixture
def few_stories(tmp_path):
    path = tmp_path / "few.jsonl"
    return sample.write(path, 300)


def test_topics_and_schema_are_made_checked_and_found_by_the_doctor(settings):
    sick = run("doctor", settings=settings)
    assert sick.exit_code == 1
    assert f"Topic {settings.topic('stories')} is missing: run `newsburst topics create`" in sick.output
    assert "run `newsburst migrate`" in sick.output
    assert run("topics", "check", settings=settings).exit_code == 1
    refused = run("worker", settings=settings)
    assert refused.exit_code == 1
    assert "newsburst topics create" in refused.output
    assert "newsburst migrate" in refused.output

    assert f"made {settings.topic('stories')}" in run("topics", "create", settings=settings).output
    assert run("topics", "create", settings=settings).output == "All topics are there.\n"
    assert run("topics", "check", settings=settings).exit_code == 0
    assert "revision" in run("migrate", settings=settings).output
    well = run("doctor", settings=settings)
    assert "ok   The workers have 0 records to finish.\nok   Dead letters: 0.\n" in well.output
    assert (well.exit_code, "FAIL" in well.output) == (0, False), well.output


def test_what_is_not_reachable_is_said_without_a_traceback():
    nowhere = Settings(kafka="127.0.0.1:1", postgres="postgresql://127.0.0.1:1/none")
    for command in (("doctor",), ("topics", "create"), ("events",), ("report", "breaking"), ("migrate",)):
        result = run(*command, settings=nowhere)
        assert result.exit_code == 1
        assert "NEWSBURST_KAFKA" in result.output or "NEWSBURST_POSTGRES" in result.output


def test_the_workers_go_on_where_they_are_told_to(settings):
    prepare(settings)
    send(settings, "stories", [(b"en", GOOD.encode())] * 3)
    (partition,) = {record.partition for record in read(settings, "stories")}
    result = run("seek", f"stories:{partition}:2", settings=settings)
    assert result.exit_code == 0, result.output
    assert f"go on at 2 in partition {partition}" in result.output
    result = run("seek", f"stories:{partition}:0", settings=settings)
    assert "they were at 2" in result.output
    for wrong, words in (
        ("stories:9:0", "has no partition 9"),
        (f"stories:{partition}:4", "has the offsets 0 to 3, not 4"),
        ("stories", "is no place"),
    ):
        assert words in run("seek", wrong, settings=settings).output


def test_the_doctor_tells_of_clocks(settings):
    prepare(settings)
    result = run("doctor", settings=settings)
    assert result.exit_code == 0, result.output
    assert "The clocks of Kafka and of this machine agree" in result.output
    assert "The clocks of Postgres and of this machine agree" in result.output
    assert doctor._clock("Kafka", 864_000.0) == (
        False,
        "The clock of Kafka is 864,000 s ahead of this machine's: set them by NTP.",
    )


def test_all_topics_take_the_time_of_the_broker_and_are_corrected_if_not(settings):
    prepare(settings)
    late = datetime(2020, 1, 1, tzinfo=UTC)

    async def write():
        producer = AIOKafkaProducer(bootstrap_servers=settings.kafka)
        await producer.start()
        for topic in all_topics(settings):
            await producer.send_and_wait(
                topic.name, b"{}", b"key", partition=0, timestamp_ms=int(late.timestamp() * 1_000)
            )
        await producer.stop()

    asyncio.run(write())
    for topic in all_topics(settings):
        (record,) = asyncio.run(_read(settings, topic.name))
        assert from_millis(record.timestamp) > datetime.now(UTC) - timedelta(minutes=5), topic.name

    async def spoil():
        async with admin(settings) as client:
            resource = ConfigResource(ConfigResourceType.TOPIC, settings.topic("assignments"))
            resource.configs = {"message.timestamp.type": "CreateTime", "retention.ms": "5000000000"}
            await client.alter_configs([resource])

    def check():
        return run("topics", "check", settings=settings)

    asyncio.run(spoil())
    wait_for(
        lambda: f"Topic {settings.topic('assignments')} is not configured" in check().output
    )  # brokers take a moment
    assert settings.topic("assignments") in run("topics", "create", settings=settings).output
    wait_for(lambda: check().exit_code == 0)


def test_changelogs_are_compacted_within_the_hour(settings):
    for topic in all_topics(settings):
        if topic.config["cleanup.policy"] == "compact":
            assert int(topic.config["max.compaction.lag.ms"]) <= 3_600_000
            assert int(topic.config["segment.ms"]) <= 3_600_000
            assert float(topic.config["min.cleanable.dirty.ratio"]) <= 0.5
        if topic.name.endswith(".dlq"):
            assert int(topic.config["retention.bytes"]) > 0
