"""Bad input: each message ends in the dead-letter topic with a reason, and the next story is processed."""

import asyncio
import json
import random
import time
from datetime import UTC, datetime

import msgspec
import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.structs import ConsumerRecord
from click.testing import CliRunner
from prometheus_client import REGISTRY

from agents.runtime.dead_letters import dead_letter, work_through
from agents.runtime.producer import Message, PackedProducer
from pipeline.cli import main
from pipeline.codec import InvalidRecord, decode, encode
from pipeline.kafka.dead_letters import MAX_REQUEUES, REQUEUED, kind
from pipeline.records import Assignment, Similar
from tests.integration.helpers import prepare, read, send, wait_until_settled, worker
from tests.make import assignment, revision
from tests.reliability import fuzz

GOOD = {
    "url": "https://a.example/1",
    "title": "Quake hits city",
    "publisher": "P",
    "crawled_at": "2024-05-01T12:00:00Z",
}


def raw(**changes):
    fields = {name: value for name, value in (GOOD | changes).items() if value is not None}
    return msgspec.json.encode(fields)


BAD = {
    b"this is not json": "Not JSON",
    b"": "The message is empty",
    b"\xff\xfe\x00bad": "Not JSON",
    raw(title="\udcff".encode("utf-8", "replace").decode() + "x").replace(b"?x", b"\xff"): "Not JSON in UTF-8",
    b'["a", "list"]': "The message should be an object, not a list.",
    raw(title=5): "`title` should be text in quotes, not a number.",
    raw(crawled_at=1714564800.5): "`crawled_at` should be a time in quotes",
    raw(publisher=None): "The story has no `publisher`.",
    raw(title=""): "`title` is empty.",
    raw(title=" \u200b "): "holds no text",
    raw(url="nowhere"): "`url` is no address of the web: 'nowhere'",
    raw(body="x" * 200_001): "`body` has more than 200,000 characters.",
    raw(crawled_at="1970-01-01T00:00:00Z"): "`crawled_at` is before 1990: 1970-01-01T00:00:00+00:00",
    raw(crawled_at="2100-01-01T00:00:00Z"): "`crawled_at` is more than a day after the story was received",
}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("`url` is no address of the web: 'nowhere: at all'; it should be.", "`url` is no address of the web"),
        (
            "`crawled_at` is more than a day after the story was received (2026-11-21T09:30:01+00:00): 2100",
            "`crawled_at` is more than a day after the story was received ...",
        ),
        (
            "`id` holds the character U+0000, which cannot be seen: 'a'.",
            "`id` holds the character ..., which cannot be seen",
        ),
        ("`klingon` is no language tag: use `en` or `pt-BR`.", "... is no language tag"),
        ("Wrong Fingerprint: story.tokens[17]: Expected `str`, got `int`.", "Wrong Fingerprint: story.tokens[]"),
        ("Not JSON in UTF-8: invalid character (byte 3).", "Not JSON in UTF-8"),
        ("Postgres refuses it: invalid byte sequence: 0x00", "Postgres refuses it"),
        ("ZeroDivisionError: division by zero", "ZeroDivisionError"),
    ],
)
def test_what_is_wrong_is_counted_without_the_values(error, words):
    assert kind(error) == words
    message = ConsumerRecord("t", 0, 5, 0, 0, None, None, None, 0, 0, ())
    labels = {"stage": "tried", "cause": "invalid", "reason": words}
    before = REGISTRY.get_sample_value("newsburst_dead_letters_total", labels) or 0
    dead_letter("tried", message, InvalidRecord(error))
    assert REGISTRY.get_sample_value("newsburst_dead_letters_total", labels) == before + 1


def dead(cause):
    """How many dead letters of a stage named "tried" were counted with this cause."""
    return sum(
        sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.name == "newsburst_dead_letters_total"
        and sample.labels["stage"] == "tried"
        and sample.labels["cause"] == cause
    )


def test_what_is_invalid_and_what_a_stage_failed_on_are_counted_apart():
    def work(record):
        if record.offset:
            raise InvalidRecord("Not JSON")
        raise ZeroDivisionError

    records = [ConsumerRecord("t", 0, offset, 0, 0, None, None, None, 0, 0, ()) for offset in (0, 1, 2)]
    before, messages = (dead("invalid"), dead("failed")), []
    assert work_through("tried", records, work, messages, 1.0) == {"dead": 3}
    assert (dead("invalid"), dead("failed")) == (before[0] + 2, before[1] + 1)
    assert len(messages) == 3


def test_every_bad_message_is_kept_with_its_reason_and_the_next_story_is_processed(settings, tmp_path):
    prepare(settings)
    messages = []
    for number, bad in enumerate(BAD):
        messages += [(b"key", bad), (None, raw(url=f"https://a.example/{number}", title=f"Story {number}"))]
    messages.append((b"key", None))
    with worker(settings, tmp_path / "worker.log") as process:
        send(settings, "stories", messages)
        wait_until_settled(settings, process)

    stories = [decode(record.value, Assignment).story.title for record in read(settings, "assignments")]
    assert sorted(stories) == sorted(f"Story {number}" for number in range(len(BAD)))

    letters = read(settings, "stories.dlq")
    assert sorted(dead.value or b"" for dead in letters) == sorted([*BAD, b""])
    sent = {(record.partition, record.offset): record for record in read(settings, "stories")}
    for dead in letters:
        headers = {name: value.decode() for name, value in dead.headers}
        assert BAD[dead.value or b""] in headers["newsburst-error"]
        assert headers["newsburst-stage"] == "normalise"
        assert headers["newsburst-topic"] == settings.topic("stories")
        original = sent[int(headers["newsburst-partition"]), int(headers["newsburst-offset"])]
        assert (original.key, original.value) == (dead.key, dead.value)


def test_garbage_between_the_stages_is_kept_too(settings, tmp_path):
    prepare(settings)
    with worker(settings, tmp_path / "worker.log") as process:
        for topic in ("normalised", "fingerprints", "assignments", "clusters", "events"):
            send(settings, topic, [(b"k", b"garbage")])
        send(settings, "stories", [(None, raw())])
        wait_until_settled(settings, process)  # both detect and store refuse what is no assignment
    stages = {
        topic: sorted(dict(dead.headers)["newsburst-stage"] for dead in read(settings, f"{topic}.dlq"))
        for topic in ("normalised", "fingerprints", "assignments", "clusters", "events")
    }
    assert stages == {
        "normalised": [b"fingerprint"],
        "fingerprints": [b"cluster"],
        "assignments": [b"detect", b"store"],
        "clusters": [b"store"],
        "events": [b"store"],
    }


def dlq(settings, *arguments):
    """What a command prints."""
    result = CliRunner().invoke(main, ["dlq", *arguments], env=settings.environment())
    assert result.exit_code == 0, result.output
    return result.stdout


def listed(settings, *arguments):
    return json.loads(dlq(settings, "list", "--json", *arguments))


def test_what_postgres_refuses_is_kept_and_what_came_with_it_is_stored(settings, tmp_path, reader):
    prepare(settings)
    good, bad = (assignment(n, f"c{n}", f"s{n}", "Quake hits city") for n in range(2))
    long = "".join(
        map(chr, random.Random(1).sample(range(0x20000, 0x2A000), 512))
    )  # an index of Postgres holds one, not two
    bad = msgspec.structs.replace(bad, story=msgspec.structs.replace(bad.story, id=long), similar=[Similar(long, 1.0)])
    with worker(settings, tmp_path / "worker.log") as process:
        send(settings, "assignments", [(b"k", encode(bad)), (b"k", encode(good))])
        wait_until_settled(settings, process)
    assert reader.count("stories") == 1
    (row,) = listed(settings, "--stage", "store")
    assert row["reason"].startswith("Postgres refuses it: index row size")


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


NO_LEADER_YET = 6
"""What the broker answers when a topic was just made."""


def produce_raw(settings, *batches):
    """Send batches as they are to the first partition of `stories`."""

    async def run():
        topic = settings.topic("stories")
        client = AIOKafkaClient(bootstrap_servers=settings.kafka)
        await client.bootstrap()
        await client.set_topics([topic])
        try:
            for made in batches:
                request = ProduceRequest(None, -1, 30_000, [(topic, [(0, made)])])
                code = NO_LEADER_YET
                while code == NO_LEADER_YET:
                    ((_, (answer,)),) = (await client.send(client.get_random_node(), request)).topics
                    code = answer[1]
                assert code == 0
        finally:
            await client.close()

    asyncio.run(run())


def test_records_that_cannot_be_read_are_kept_and_no_worker_ends(settings, tmp_path, reader):
    prepare(settings)
    header = bytes(61)
    payload = fuzz.record(0, b"k", raw(), [(b"\xff", b"1")]) + fuzz.record(1, b"k", raw(url="https://a.example/2"), [])
    with worker(settings, tmp_path / "worker.log") as process:
        produce_raw(settings, fuzz.packed(header, payload, 0, 2), fuzz.packed(header, payload, 4, 2))
        wait_until_settled(settings, process)
        rows = listed(settings)
        assert [row["reason"] for row in rows] == ["Not readable: the name of a header is not UTF-8: \\xff."] * 2
        assert json.loads(dlq(settings, "show", rows[0]["name"], "--raw"))["url"] == GOOD["url"]
        send(settings, "stories", [(b"en", raw(url="https://a.example/3"))])
        wait_until_settled(settings, process)
        result = CliRunner().invoke(main, ["doctor"], env=settings.environment())
        assert result.exit_code == 0, result.output
    assert reader.count("stories") == 2


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
