"""The whole path on real Kafka and Postgres: what comes out equals the pure replay of the fingerprints topic."""

import os
import signal
import time
from collections import Counter
from itertools import cycle

import pytest

from pipeline.codec import decode
from pipeline.embedded.processes import SAYS_READY
from pipeline.records import Story
from pipeline.replay import Step
from tests import sample
from tests.integration.helpers import last_words, prepare, send, start, wait_until_settled, worker
from tests.reliability.promise import judge, replayed

COUNT = 2_500
"""Enough stories for events to break and clusters to merge."""


@pytest.fixture(scope="module")
def lines():
    return sample.lines(COUNT)


def assert_equal_to_replay(settings, other_database):
    """Postgres and the topics, row for row; returns the steps of the replay without its ticks, which come in long runs."""
    verdict = judge(settings, other_database)
    assert verdict.kept, verdict
    return [step for _, step in replayed(settings) if isinstance(step, Step)]


def test_stories_become_clusters_and_events_on_topics_and_in_postgres(settings, new_database, reader, lines, tmp_path):
    prepare(settings)
    with worker(settings, tmp_path / "worker.log") as process:
        send(settings, "stories", [(b"en", line) for line in lines])
        wait_until_settled(settings, process)
    steps = assert_equal_to_replay(settings, new_database())
    assert len(steps) == COUNT
    assert sum(update.sequence == 1 for step in steps for update in step.updates) >= 10
    assert any(step.assignment.merged for step in steps)

    assert reader.count("stories") == COUNT
    breaking = reader.report("breaking-now")
    assert breaking
    assert len(reader.report("event", event=breaking[0]["event_id"])) == breaking[0]["stories"]
    assert reader.report("event-timeline", event=breaking[0]["event_id"])[0]["state"] == "started"


def test_a_worker_killed_halfway_and_started_again_gives_the_same(settings, new_database, reader, lines, tmp_path):
    prepare(settings)
    log = tmp_path / "worker.log"
    process = start(settings, log)
    send(settings, "stories", [(b"en", line) for line in lines])
    for share in (0.1, 0.4):  # a busy machine sees it late
        deadline = time.monotonic() + 120
        while reader.count("stories") < share * COUNT:
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert reader.count("stories") < COUNT, "It was killed too late to show anything."
        process = start(settings, log)
    wait_until_settled(settings, process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    steps = assert_equal_to_replay(settings, new_database())
    assert {step.assignment.story.id for step in steps} == {decode(line, Story).id for line in lines}


def test_stories_without_a_key_and_in_several_languages_are_processed(settings, new_database, lines, tmp_path):
    prepare(settings)
    stories = lines[:60] + [line.replace(b'"en"', b'"de"').replace(b"uci-", b"de-") for line in lines[:60]]
    with worker(settings, tmp_path / "worker.log") as process:
        send(settings, "stories", [(None, line) for line in stories])
        wait_until_settled(settings, process)
    steps = assert_equal_to_replay(settings, new_database())
    assert {step.assignment.story.edition for step in steps} == {"en", "de"}


def test_workers_that_come_and_go_share_the_editions_and_the_parts_of_one(settings, new_database, lines, tmp_path):
    prepare(settings)
    rules = tmp_path / "rules.toml"
    rules.write_text('[en]\nsplit_by = "desk"\n[en.parts]\nsport = ["Sport"]\nworld = ["World", "Europe"]\n')
    settings = settings.model_copy(update={"rules": rules})
    languages = (b"en", b"de", b"fr", b"es")
    stories = [
        line.replace(b'"en"', b'"%s"' % language).replace(b'"id":"', b'"id":"%s-' % language)
        for line in lines[:400]
        for language in languages
    ]
    desks = cycle([b"sport", b"Europe", b"Weather", b" World"])
    stories = [line[:-1] + b',"desk":"%s"}' % next(desks) if b'"en"' in line else line for line in stories]
    with worker(settings, tmp_path / "first.log") as first:
        send(settings, "stories", [(None, line) for line in stories[:800]])
        with worker(settings, tmp_path / "second.log"):
            send(settings, "stories", [(None, line) for line in stories[800:]])
            wait_until_settled(settings, first)
        send(settings, "stories", [(None, line) for line in stories[:10]])
        wait_until_settled(settings, first)
    steps = assert_equal_to_replay(settings, new_database())
    assert len(steps) == len(stories)
    stories_of = Counter(step.assignment.story.edition for step in steps)
    code, said = last_words(**settings.model_copy(update={"rules": None}).environment())
    assert (code, "Traceback" in said) == (1, False)
    assert "is not the one that the state was made by: NEWSBURST_RULES [en]=as for all others" in said
    assert SAYS_READY not in said, "It reads no story: it would put it into another edition."
    assert stories_of == {"en": 100, "en-sport": 100, "en-world": 200, "de": 400, "fr": 400, "es": 400}
