"""Rows: what older and newer workers wrote, revisions, rules, and logs that do not match."""

import asyncio

import pytest

from agents.runtime.producer import Message, PackedProducer
from pipeline.codec import decode, encode
from pipeline.config import RULES_OF
from pipeline.kafka import upgrade
from pipeline.kafka.changelogs import (
    NO_RULES,
    AheadOfLog,
    OtherRule,
    adopt,
    differences,
    forget,
    read_rows,
    wrong_state,
)
from pipeline.kafka.topics import changelog
from pipeline.records import StreamTime
from pipeline.stages.lifetimes import Expired
from tests.agents.runtime.state_worker import Worker
from tests.integration.helpers import _read, make_topics
from tests.make import NOON, assignment


@pytest.fixture
def settings(kafka_settings):
    return kafka_settings


def rename(table, fields):
    """What a version 2 could have been: `cluster` became `cluster_id`."""
    assert table == "clustering"
    return {"cluster_id" if name == "cluster" else name: value for name, value in fields.items()}


async def put_row_of(settings, version, row):
    sender = PackedProducer(settings)
    headers = [("version", str(version).encode())] if version else []
    await sender.send([Message(changelog(settings, "clustering"), b"a", row, 0, headers)])
    await sender.close()


def test_a_worker_takes_over_the_rows_of_an_older_one(settings, monkeypatch):
    make_topics(settings)
    monkeypatch.setitem(upgrade.STEPS, 1, rename)
    old = encode(assignment(1, "ca", "a")).replace(b'"cluster_id"', b'"cluster"')

    async def run():
        await put_row_of(settings, None, old)
        async with Worker(settings) as worker:
            assert await worker.stories(0) == {"a"}

    asyncio.run(run())


def test_rows_of_the_first_version_are_good_as_they_are(settings):
    make_topics(settings)

    async def run():
        await put_row_of(settings, 1, encode(assignment(1, "ca", "a")))
        async with Worker(settings) as worker:
            assert await worker.stories(0) == {"a"}

    asyncio.run(run())


def test_a_worker_does_not_touch_the_rows_of_a_newer_one(settings):
    make_topics(settings)

    async def run():
        await put_row_of(settings, upgrade.VERSION + 1, b"{}")
        async with Worker(settings) as worker:
            with pytest.raises(upgrade.NewerRow, match="version 4; this worker knows versions up to 3"):
                await worker.stories(0)

    asyncio.run(run())


def test_a_story_and_its_revision_have_rows_of_their_own_that_go_together(settings):
    make_topics(settings)

    async def run():
        async with Worker(settings) as worker:
            log = worker.changelog
            for key, revision in (("a", False), ("a", True), ("b", False), ("b", True), ("c", False)):
                await worker.write(log.row(0, key, encode(assignment(ord(key), "ca", key)), revision=revision))
            await worker.write(*log.delete(0, Expired([], ["a", "c"], ["a"], [])))
            await worker.assigned(5, 0)
            await worker.stories(0)
            assert worker.restored == ["b", "b"]

    asyncio.run(run())


def test_rows_say_by_which_version_they_were_written(settings):
    make_topics(settings)

    async def run():
        async with Worker(settings) as worker:
            await worker.add(0, "a")

    asyncio.run(run())
    rule, row = [record for record in asyncio.run(_read(settings, changelog(settings, "clustering"))) if record.value]
    assert rule.headers == row.headers == (("version", str(upgrade.VERSION).encode()),)


def test_rows_made_by_another_rule_are_refused_until_it_is_adopted(settings):
    make_topics(settings)
    other = settings.model_copy(update={"look_back_hours": 1.0})

    async def run():
        async with Worker(settings) as worker:
            await worker.add(0, "a")
        async with Worker(other) as worker:
            with pytest.raises(OtherRule, match=r"NEWSBURST_LOOK_BACK_HOURS=1.0 \(the state has 96.0\).*state adopt"):
                await worker.stories(0)
        assert not any("rule" in sentence for sentence in await wrong_state(settings) if "reset" not in sentence)
        assert any("NEWSBURST_LOOK_BACK_HOURS=1.0" in sentence for sentence in await wrong_state(other))
        await adopt(other)
        async with Worker(other) as worker:
            assert await worker.stories(0) == {"a"}
        async with Worker(settings) as worker:
            with pytest.raises(OtherRule):
                await worker.stories(0)

    asyncio.run(run())


def test_the_rule_stands_near_the_end_however_many_rows_there_are(settings, monkeypatch):
    make_topics(settings)
    monkeypatch.setattr("agents.runtime.state.RULE_EVERY", 10)
    monkeypatch.setattr("pipeline.kafka.changelogs.GLANCED_OFFSETS", 20)
    other = settings.model_copy(update={"threshold": 3})

    async def run():
        async with Worker(settings) as worker:
            for number in range(25):
                await worker.add(0, f"s{number}")
        await adopt(other)
        async with Worker(other) as worker:
            for number in range(25):
                await worker.add(0, f"t{number}")
        assert not any("rule" in sentence for sentence in await wrong_state(other) if "reset" not in sentence)
        assert any("NEWSBURST_THRESHOLD=15 (the state has 3)" in sentence for sentence in await wrong_state(settings))

    asyncio.run(run())


def test_the_rules_of_an_edition_are_compared_where_either_side_has_any():
    none, split, old = {"A": "1"}, {"A": "1", f"{RULES_OF}en]": "{}"}, {"A": "1", "NEWSBURST_RULES": "none"}
    assert differences(none, none) == differences({}, split) == differences(old, none) == []
    assert differences(none, split) == [(f"{RULES_OF}en]", NO_RULES, "{}")]
    assert differences(split, none) == [(f"{RULES_OF}en]", "{}", NO_RULES)]
    assert differences(old, split) == [(f"{RULES_OF}en]", NO_RULES, "{}")]


def test_a_state_ahead_of_its_log_is_refused_until_it_is_reset(settings):
    make_topics(settings)

    async def run():
        async with Worker(settings) as worker:
            await worker.add(0, "a")
        assert any("fingerprints" in sentence and "state reset" in sentence for sentence in await wrong_state(settings))
        async with Worker(settings) as worker:
            worker.log_end.at = ord("a")
            with pytest.raises(AheadOfLog, match=r"offset 97 .* ends at 97.*newsburst state reset"):
                await worker.stories(0)
        assert await forget(settings) == 1
        assert await wrong_state(settings) == []
        async with Worker(settings) as worker:
            worker.log_end.at = 0
            assert await worker.stories(0) == set()

    asyncio.run(run())


def test_the_stream_time_of_an_edition_is_a_row_that_each_tick_replaces(settings):
    make_topics(settings)

    async def run():
        async with Worker(settings) as worker:
            for position in (5, 9):
                row = encode(StreamTime(edition="en", position=position, stream_time=NOON, received_at=NOON))
                await worker.write(worker.changelog.time(0, "en", row))

    asyncio.run(run())
    rows = asyncio.run(read_rows(settings, "clustering", 0))
    assert [decode(row, StreamTime).position for row in rows.times.values()] == [9]
