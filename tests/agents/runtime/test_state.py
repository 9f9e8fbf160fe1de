"""The state store: what is loaded is what was committed, and only a worker whose state holds all of it commits more."""

import asyncio
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord
from structlog.testing import capture_logs

from agents.runtime.producer import Message, PackedProducer
from agents.runtime.rows import Changelog, StateOf
from agents.runtime.state import StateStore
from pipeline.codec import decode, encode
from pipeline.kafka import upgrade
from pipeline.kafka.changelogs import AheadOfLog, OtherRule, adopt, forget, read_rows, rules, wrong_state
from pipeline.kafka.topics import changelog
from pipeline.records import Assignment, Place, StreamTime
from pipeline.stages.lifetimes import Expired
from tests.integration.helpers import _read, make_topics, read
from tests.make import NOON, assignment


@pytest.fixture
def settings(kafka_settings):
    return kafka_settings


class Signal:
    """A signal of Faust's, as far as the store uses it."""

    def connect(self, receiver, **_):
        self.send = receiver


class LogEnd:
    """The end of a log, as this test says."""

    at = 1_000

    async def of(self, _):
        return self.at


def place(row):
    found = decode(row, Place)
    return found.story.edition, found.position


def record(topic, story_id):
    """A record of a story."""
    key = story_id.encode()
    return ConsumerRecord(topic, 0, ord(key[:1]), 1_000, 0, key, b"{}", None, len(key), 2, ())


class Worker:
    """A store as a worker has it, in which the state of an edition is the set of story ids that it was restored from."""

    def __init__(self, settings):
        self.settings = settings
        self.app = SimpleNamespace(on_partitions_assigned=Signal(), consumer_generation_id=0)
        self.changelog, self.log_end = Changelog(settings, "clustering"), LogEnd()
        self.store = StateStore(
            self.app, settings, "cluster", self.changelog, "fingerprints",
            StateOf(Assignment, place, lambda _: set(), self.restore), self.log_end,
        )  # fmt: skip
        self.restored = []

    def restore(self, state, rows):
        self.restored = [row.story.id for row in rows if isinstance(row, Assignment)]
        state.update(self.restored)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.store.close()

    async def assigned(self, generation, *partitions):
        self.app.consumer_generation_id = generation
        ours = {TopicPartition(self.settings.topic("fingerprints"), partition) for partition in partitions}
        others = {TopicPartition(self.settings.topic("stories"), partition) for partition in range(9)}
        await self.app.on_partitions_assigned.send(self.app, ours | others)

    async def add(self, number, *story_ids, gone=(), bad=()):
        """Take in those of these stories that are new; returns them."""
        new = []

        @contextmanager
        def work(partition, messages):
            state = partition.state("en")
            new.clear()

            def work_on(record):
                story_id = record.key.decode()
                if story_id in bad:
                    state.add("half done")
                    raise ZeroDivisionError
                if story_id in state:
                    return "repeated"
                new.append(story_id)
                state.add(story_id)
                row = encode(assignment(ord(story_id[0]), "ca", story_id))
                messages.append(self.changelog.row(number, story_id, row))
                messages.append(Message(self.settings.topic("events"), record.key, b"told", number))
                return "done"

            yield work_on
            state.difference_update(gone)
            messages.extend(self.changelog.row(number, story_id, None) for story_id in gone)

        records = [record(self.settings.topic("fingerprints"), story_id) for story_id in story_ids]
        outcomes = await self.store.transact(number, records, work)
        assert outcomes.total() in {0, len(story_ids)}
        return new if outcomes or not story_ids else None

    async def write(self, *messages):
        """Write rows."""

        @contextmanager
        def work(_, collected):
            collected.extend(messages)
            yield None

        await self.store.transact(0, [], work)

    async def stories(self, number):
        """The stories that the worker holds."""
        return set((await self.store._load(number)).state("en"))


def told(settings):
    return sorted(record.key.decode() for record in read(settings, "events"))


def test_what_was_put_and_not_deleted_is_loaded(settings):
    make_topics(settings)

    async def run():
        async with Worker(settings) as worker:
            await worker.add(0, "a", "b", "a", "c")
            await worker.add(1, "z")
            await worker.add(0, gone=["b"])
        async with Worker(settings) as worker:
            assert await worker.stories(0) == {"a", "c"}
            assert await worker.stories(1) == {"z"}

    asyncio.run(run())


def test_rows_are_restored_in_the_order_of_their_positions(settings):
    make_topics(settings)

    async def run():
        async with Worker(settings) as worker:
            await worker.add(0, "c", "a", "d", "b")
        async with Worker(settings) as worker:
            await worker.stories(0)
            assert worker.restored == ["a", "b", "c", "d"]

    asyncio.run(run())


def test_a_partition_keeps_its_state_only_from_one_generation_to_the_next(settings):
    make_topics(settings)

    async def run():
        async with Worker(settings) as worker, Worker(settings) as other:
            await worker.assigned(1, 0, 1)
            await worker.add(0, "a")
            kept = worker.store._owned[0]
            await worker.stories(1)
            await worker.assigned(2, 0)  # partition 1 went, 0 stayed
            assert worker.store._owned == {0: kept}
            await other.add(0, "b")
            await worker.assigned(4, 0)  # another may have had it in between
            assert await worker.stories(0) == {"a", "b"}

    asyncio.run(run())


def test_a_worker_that_was_frozen_commits_nothing_before_it_knows_what_others_did(settings):
    make_topics(settings)

    async def run():
        async with Worker(settings) as frozen, Worker(settings) as owner:
            assert await frozen.add(0, "a") == ["a"]
            assert await owner.add(0, "a", "b") == ["b"]
            assert await frozen.add(0, "b", "c") == ["c"]
            assert await owner.add(0, "c", "d") == ["d"]

    asyncio.run(run())
    assert told(settings) == ["a", "b", "c", "d"]


def test_a_worker_that_learns_of_its_loss_gives_up(settings):
    make_topics(settings)

    async def run():
        async with Worker(settings) as frozen, Worker(settings) as owner:
            await frozen.add(0, "a")
            await owner.add(0, "b")
            send = frozen.store._owned[0].producer.send

            async def learns_while_it_sends(messages):
                frozen.app.consumer_generation_id += 1
                await send(messages)

            frozen.store._owned[0].producer.send = learns_while_it_sends
            assert await frozen.add(0, "c") is None

    asyncio.run(run())
    assert told(settings) == ["a", "b"]


def test_what_changes_hands_while_it_is_loaded_is_loaded_again(settings):
    make_topics(settings)

    async def run():
        async with Worker(settings) as worker, Worker(settings) as other:
            await worker.assigned(1, 0)
            read_rows, reads = worker.store._read, []

            async def slow(partition):
                found = await read_rows(partition)
                reads.append(partition)
                if len(reads) == 1:
                    await other.add(0, "late")
                    await worker.assigned(3, 0)
                return found

            worker.store._read = slow
            assert await worker.stories(0) == {"late"}
            assert reads == [0, 0]

    asyncio.run(run())


def test_a_record_that_a_stage_fails_on_is_kept_and_the_others_are_worked_on(settings):
    make_topics(settings)

    async def run():
        async with Worker(settings) as worker:
            assert await worker.add(0, "a", "b", "c", bad=["b"]) == ["a", "c"]
            assert await worker.stories(0) == {"a", "c"}

    asyncio.run(run())
    assert told(settings) == ["a", "c"]
    (dead,) = read(settings, "fingerprints.dlq")
    assert (dead.key, dict(dead.headers)["newsburst-stage"]) == (b"b", b"cluster")
    assert dict(dead.headers)["newsburst-error"].startswith(b"ZeroDivisionError")


def test_a_stage_that_fails_on_everything_leaves_nothing_half_done(settings):
    make_topics(settings)
    many = [f"s{n}" for n in range(20)]

    async def run():
        async with Worker(settings) as worker:
            await worker.add(0, "a")
            with pytest.raises(ZeroDivisionError):
                await worker.add(0, *many, bad=many)
            assert await worker.stories(0) == {"a"}

    asyncio.run(run())
    assert told(settings) == ["a"]
    assert read(settings, "fingerprints.dlq") == []


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


def test_a_transaction_whose_end_kafka_lost_is_told_of(settings):
    make_topics(settings)

    async def said_at_loading():
        with capture_logs() as logs:
            async with Worker(settings) as worker:
                assert await worker.stories(0) == {"a"}
        return [entry["event"] for entry in logs if entry["log_level"] == "error"]

    async def run():
        async with Worker(settings) as worker:
            await worker.add(0, "a")
        assert await said_at_loading() == []
        hanging = PackedProducer(settings, "somebody-else")
        producer = await hanging.start()
        await producer.begin_transaction()
        await producer.send_and_wait(changelog(settings, "clustering"), b"{}", b"b", partition=0)
        (said,) = await said_at_loading()
        assert "Kafka lost the end of a transaction" in said
        with capture_logs() as logs:
            assert len(await rules(settings)) == 1
        assert logs == []  # who only looks has shut nobody out: a worker may be writing
        await producer.abort_transaction()
        await hanging.close()

    asyncio.run(run())


def test_a_story_and_its_revision_have_rows_of_their_own_that_go_together(settings):
    make_topics(settings)

    async def run():
        async with Worker(settings) as worker:
            log = worker.changelog
            for key, revision in (("a", False), ("a", True), ("b", False), ("b", True), ("c", False)):
                await worker.write(log.row(0, key, encode(assignment(ord(key), "ca", key)), revision=revision))
            await worker.write(*log.delete(0, Expired([], ["a", "c"], ["a"])))
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


def test_a_store_lets_the_one_before_it_load_first(settings, monkeypatch):
    make_topics(settings)

    async def run():
        async with Worker(settings) as first, Worker(settings) as second:
            order = []
            for name, worker in (("first", first), ("second", second)):
                monkeypatch.setattr(worker.store, "_build", lambda _, name=name: order.append(name) or ({}, -1))
            second.store._after = first.store
            await asyncio.gather(second.store._load(0), first.store._load(1))
            assert order == ["first", "second"]

    asyncio.run(run())


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
