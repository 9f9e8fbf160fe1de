"""Dead letters are listed, shown and sent again."""

import asyncio
import time
from datetime import UTC, datetime

import msgspec
from aiokafka.structs import ConsumerRecord
from click.testing import CliRunner

from agents.runtime.dead_letters import dead_letter
from agents.runtime.producer import Message, PackedProducer
from pipeline.cli import main
from pipeline.codec import InvalidRecord, encode
from pipeline.kafka.dead_letters import MAX_REQUEUES, REQUEUED
from tests.integration.helpers import prepare, read, send, wait_until_settled, worker
from tests.integration.records import dlq, listed, raw
from tests.make import assignment, revision


def test_letters_are_listed_shown_and_sent_again_but_not_in_circles(settings, tmp_path):
    prepare(settings)
    bad = raw(title="")
    with worker(settings, tmp_path / "worker.log") as process:
        send(settings, "stories", [(b"en", b"garbage \xff"), (b"en", bad), (b"en", raw(url="nowhere"))])
        wait_until_settled(settings, process)
        assert [row["stage"] for row in listed(settings)] == ["normalise"] * 3
        assert listed(settings, "--reason", "NOT JSON") == listed(settings, "--reason", "not json") != []
        assert listed(settings, "--stage", "store") == listed(settings, "--until", "2020-01-01") == []
        (name,) = [row["name"] for row in listed(settings, "--reason", "title")]
        assert dlq(settings, "show", name, "--raw").encode() == bad
        assert "reason: `title` is empty." in dlq(settings, "show", name)

        for times in range(1, MAX_REQUEUES + 1):
            assert "1 messages sent again." in dlq(settings, "requeue", "--reason", "title")
            wait_until_settled(settings, process)
            (row,) = listed(settings, "--reason", "title")  # it failed again
            assert row["requeued"] == times
        assert "0 messages sent again." in dlq(settings, "requeue", "--reason", "title")
        assert "2 messages would be sent again." in dlq(settings, "requeue", "--all", "--dry-run")
        assert "1 messages sent again." in dlq(settings, "requeue", row["name"])
        wait_until_settled(settings, process)
        assert len(listed(settings, "--done")) == 3 + MAX_REQUEUES + 1


def test_what_is_sent_again_comes_to_its_topic_as_it_was(settings):
    prepare(settings)
    message = ConsumerRecord(
        settings.topic("stories"), 1, 7, 1_000, 0, b"key", raw(), None, 3, 5, (("trace", b"abc"), ("newsburst-x", b"y"))
    )

    async def bury():
        sender = PackedProducer(settings)
        await sender.send([dead_letter("normalise", message, InvalidRecord("because"))])
        await sender.close()

    asyncio.run(bury())
    dlq(settings, "requeue", "--all")
    (again,) = read(settings, "stories")
    assert (again.partition, again.key, again.value) == (1, b"key", raw())
    assert dict(again.headers) == {"trace": b"abc", REQUEUED: b"1"}
    assert listed(settings) == []


def test_a_letter_that_is_not_there_is_named(settings):
    prepare(settings)
    result = CliRunner().invoke(main, ["dlq", "show", "stories:0:99"], env=settings.environment())
    assert result.exit_code == 1
    assert "No dead letter is named 'stories:0:99'" in result.output


def test_what_the_store_could_not_write_is_tried_again_behind_the_back_of_readers(settings, tmp_path, reader):
    prepare(settings)
    good = assignment(0, "c0", "s0", "Quake hits city")

    async def bury():
        sender = PackedProducer(settings)
        message = ConsumerRecord(settings.topic("assignments"), 0, 7, 1_000, 0, b"k", encode(good), None, 1, 1, ())
        await sender.send([dead_letter("store", message, InvalidRecord("Postgres refuses it: because"))])
        await sender.close()

    asyncio.run(bury())
    assert "1 messages sent again." in dlq(settings, "requeue", "--all")
    with worker(settings, tmp_path / "worker.log"):
        deadline = time.monotonic() + 60
        while not reader.count("stories"):
            assert time.monotonic() < deadline
            time.sleep(0.2)
    assert read(settings, "assignments") == []


def test_what_detect_refused_is_not_sent_again_and_says_why(settings):
    prepare(settings)
    forged = assignment(2**60, "c0", "s0", "Quake hits city")

    async def bury():
        sender = PackedProducer(settings)
        message = ConsumerRecord(settings.topic("assignments"), 0, 7, 1_000, 0, b"k", encode(forged), None, 1, 1, ())
        await sender.send([dead_letter("detect", message, InvalidRecord("because"))])
        await sender.close()

    asyncio.run(bury())
    result = CliRunner().invoke(main, ["dlq", "requeue", "--all"], env=settings.environment())
    assert "0 messages sent again." in result.output
    assert "what follows it has been counted without it" in result.output


def test_forged_records_are_letters_and_silence_no_edition(settings, tmp_path):
    """A position that no log has, revisions of what nobody knows, times to come: each is refused, and what is sound goes on."""
    prepare(settings)
    far = [assignment(2**60, "c0", "s0", "Quake hits city")]
    far += [revision(0, f"c{n}", f"s{n}", "Quake hits city") for n in range(15)]
    later = msgspec.structs.replace(assignment(0, "c1", "s1", "Quake"), stream_time=datetime(2100, 1, 1, tzinfo=UTC))
    send(settings, "fingerprints", [(b"en", b"garbage")] * 3)
    with worker(settings, tmp_path / "worker.log") as process:
        send(settings, "assignments", [(b"en", encode(row)) for row in [*far, later]])
        wait_until_settled(settings, process)
        reasons = [row["reason"] for row in listed(settings, "--stage", "detect")]
        assert sum("is not on the log" in reason for reason in reasons) >= 1
        assert sum("never counted" in reason or "is not on the log" in reason for reason in reasons) == len(far)
        assert sum("is after the record came" in reason for reason in reasons) <= 1
        assert process.poll() is None


def test_whatever_is_on_the_topic_of_retries_the_store_goes_on(settings, tmp_path):
    prepare(settings)

    async def forge():
        sender = PackedProducer(settings)
        topic = settings.topic("store.retry")
        headers = [
            [],
            [("newsburst-from", b"\xff")],
            [("newsburst-from", b"elsewhere")],
            [("newsburst-from", settings.topic("events").encode())],
        ]
        await sender.send([Message(topic, b"k", b"x", 0, said) for said in headers])
        await sender.close()

    asyncio.run(forge())
    with worker(settings, tmp_path / "worker.log") as process:
        deadline = time.monotonic() + 60
        while len(listed(settings, "--stage", "store")) < 4:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.3)
