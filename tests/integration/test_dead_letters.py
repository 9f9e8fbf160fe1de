"""Bad input: each message ends in the dead-letter topic with a reason, and the next story is processed."""

import msgspec

from pipeline.records import Assignment, decode
from tests.integration.helpers import prepare, read, send, wait_until_settled, worker

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
    assert sorted(letter.value or b"" for letter in letters) == sorted([*BAD, b""])
    sent = {(record.partition, record.offset): record for record in read(settings, "stories")}
    for letter in letters:
        headers = {name: value.decode() for name, value in letter.headers}
        assert BAD[letter.value or b""] in headers["newsburst-error"]
        assert headers["newsburst-stage"] == "normalise"
        assert headers["newsburst-topic"] == settings.topic("stories")
        original = sent[int(headers["newsburst-partition"]), int(headers["newsburst-offset"])]
        assert (original.key, original.value) == (letter.key, letter.value)


def test_garbage_between_the_stages_is_kept_too(settings, tmp_path):
    prepare(settings)
    with worker(settings, tmp_path / "worker.log") as process:
        for topic in ("normalised", "fingerprints", "assignments", "clusters", "events"):
            send(settings, topic, [(b"k", b"garbage")])
        send(settings, "stories", [(None, raw())])
        wait_until_settled(settings, process)  # both detect and store refuse what is no assignment
    stages = {
        topic: sorted(dict(letter.headers)["newsburst-stage"] for letter in read(settings, f"{topic}.dlq"))
        for topic in ("normalised", "fingerprints", "assignments", "clusters", "events")
    }
    assert stages == {
        "normalised": [b"fingerprint"],
        "fingerprints": [b"cluster"],
        "assignments": [b"detect", b"store"],
        "clusters": [b"store"],
        "events": [b"store"],
    }
