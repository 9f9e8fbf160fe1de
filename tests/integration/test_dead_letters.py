"""Bad input: each message ends in the dead-letter topic with a reason, and the next story is processed."""

import asyncio
import json

import msgspec
import pytest
from aiokafka.structs import ConsumerRecord
from click.testing import CliRunner
from prometheus_client import REGISTRY

from agents.dead_letters import letter
from agents.outbox import Sender
from pipeline.cli import main
from pipeline.dead_letters import MOST, REQUEUED, kind
from pipeline.records import Assignment, decode, encode
from pipeline.storage.read import Reader
from tests.integration.helpers import prepare, read, send, wait_until_settled, worker
from tests.make import assignment

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
    b'["a", "list"]': "Expected `object`, got `array`",
    raw(title=5): "title: Expected `str`, got `int`",
    raw(crawled_at=1714564800.5): "crawled_at: Expected `datetime`, got `float`",
    raw(publisher=None): "missing required field `publisher`",
    raw(title=""): "title: Expected `str` of length >= 1",
    raw(title=" \u200b "): "holds no text",
    raw(url="nowhere"): "'nowhere' is not an absolute http or https URL",
    raw(body="x" * 200_001): "body: Expected `str` of length <= 200000",
    raw(crawled_at="1970-01-01T00:00:00Z"): "1970-01-01T00:00:00+00:00 is before 1990",
    raw(crawled_at="2100-01-01T00:00:00Z"): "2100-01-01T00:00:00+00:00 is more than a day after it was received",
}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("Wrong Story: url: 'nowhere: at all' is not an absolute http or https URL.", "Wrong Story: url"),
        ("Wrong Fingerprint: story.tokens[17]: Expected `str`, got `int`.", "Wrong Fingerprint: story.tokens[]"),
        ("Not JSON in UTF-8: invalid character (byte 3).", "Not JSON in UTF-8"),
        ("Postgres refuses it: invalid byte sequence: 0x00", "Postgres refuses it"),
        ("ZeroDivisionError: division by zero", "ZeroDivisionError"),
    ],
)
def test_what_is_wrong_is_counted_without_the_values(error, words):
    assert kind(error) == words
    message = ConsumerRecord("t", 0, 5, 0, 0, None, None, None, 0, 0, ())
    labels = {"stage": "tried", "reason": words}
    before = REGISTRY.get_sample_value("newsburst_dead_letters_total", labels) or 0
    letter("tried", message, ValueError(error))
    assert REGISTRY.get_sample_value("newsburst_dead_letters_total", labels) == before + 1


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


def test_what_postgres_refuses_is_kept_and_what_came_with_it_is_stored(settings, tmp_path):
    prepare(settings)
    good, bad = (assignment(n, f"c{n}", f"s{n}", "Quake hits city") for n in range(2))
    bad = msgspec.structs.replace(bad, story=msgspec.structs.replace(bad.story, title="nul \x00"))
    with worker(settings, tmp_path / "worker.log") as process:
        send(settings, "assignments", [(b"k", encode(bad)), (b"k", encode(good))])
        wait_until_settled(settings, process)
    reader = Reader(settings.postgres)
    assert reader.count("stories") == 1
    reader.close()
    (row,) = listed(settings)
    assert row["stage"] == "store"
    assert row["reason"].startswith("Postgres refuses it: unsupported Unicode escape")


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
        assert "reason: Wrong Story: title" in dlq(settings, "show", name)

        for times in range(1, MOST + 1):
            assert "1 messages sent again." in dlq(settings, "requeue", "--reason", "title")
            wait_until_settled(settings, process)
            (row,) = listed(settings, "--reason", "title")  # it failed again
            assert row["requeued"] == times
        assert "0 messages sent again." in dlq(settings, "requeue", "--reason", "title")
        assert "2 messages would be sent again." in dlq(settings, "requeue", "--all", "--dry-run")
        assert "1 messages sent again." in dlq(settings, "requeue", row["name"])
        wait_until_settled(settings, process)
        assert len(listed(settings, "--done")) == 3 + MOST + 1


def test_what_is_sent_again_comes_to_its_topic_as_it_was(settings):
    prepare(settings)
    message = ConsumerRecord(
        settings.topic("stories"), 1, 7, 1_000, 0, b"key", raw(), None, 3, 5, (("trace", b"abc"), ("newsburst-x", b"y"))
    )

    async def bury():
        sender = Sender(settings)
        await sender.send([letter("normalise", message, ValueError("because"))])
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
