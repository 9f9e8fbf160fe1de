"""Bad input: each message ends in the dead-letter topic with a reason, and the next story is processed."""

import asyncio
import json
import random

import msgspec
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.produce import ProduceRequest
from click.testing import CliRunner

from pipeline.cli import main
from pipeline.codec import decode, encode
from pipeline.records import Assignment
from tests.integration.helpers import prepare, read, send, wait_until_settled, worker
from tests.integration.records import GOOD, dlq, listed, raw
from tests.make import assignment
from tests.reliability import odd_records

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


def test_what_postgres_refuses_is_kept_and_what_came_with_it_is_stored(settings, tmp_path, reader):
    prepare(settings)
    good, bad = (assignment(n, f"c{n}", f"s{n}", "Quake hits city") for n in range(2))
    long = "".join(map(chr, random.Random(1).sample(range(0x20000, 0x2A000), 1_000)))  # no index of Postgres holds it
    bad = msgspec.structs.replace(bad, story=msgspec.structs.replace(bad.story, family=long))
    with worker(settings, tmp_path / "worker.log") as process:
        send(settings, "assignments", [(b"k", encode(bad)), (b"k", encode(good))])
        wait_until_settled(settings, process)
    assert reader.count("stories") == 1
    (row,) = listed(settings, "--stage", "store")
    assert row["reason"].startswith("Postgres refuses it: index row size")


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
    other = raw(url="https://a.example/2")
    payload = odd_records.record(0, b"k", raw(), [(b"\xff", b"1")]) + odd_records.record(1, b"k", other, [])
    with worker(settings, tmp_path / "worker.log") as process:
        produce_raw(settings, odd_records.packed(header, payload, 0, 2), odd_records.packed(header, payload, 4, 2))
        wait_until_settled(settings, process)
        rows = listed(settings)
        assert [row["reason"] for row in rows] == ["Not readable: the name of a header is not UTF-8: \\xff."] * 2
        assert json.loads(dlq(settings, "show", rows[0]["name"], "--raw"))["url"] == GOOD["url"]
        send(settings, "stories", [(b"en", raw(url="https://a.example/3"))])
        wait_until_settled(settings, process)
        result = CliRunner().invoke(main, ["doctor"], env=settings.environment())
        assert result.exit_code == 0, result.output
    assert reader.count("stories") == 2
