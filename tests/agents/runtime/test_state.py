"""The state store: what is loaded is what was committed, and only a worker whose state holds all of it commits more."""

import asyncio

import pytest
from structlog.testing import capture_logs

from agents.runtime.producer import PackedProducer
from pipeline.kafka.changelogs import rules
from pipeline.kafka.topics import changelog
from tests.agents.runtime.state_worker import Worker, told
from tests.integration.helpers import make_topics, read


@pytest.fixture
def settings(kafka_settings):
    return kafka_settings


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


def test_a_store_lets_the_one_before_it_load_first(settings, monkeypatch):
    make_topics(settings)

    async def run():
        async with Worker(settings) as first, Worker(settings) as second:
            order = []
            for name, worker in (("first", first), ("second", second)):
                monkeypatch.setattr(worker.store, "_build", lambda _, name=name: order.append(name) or ({}, -1))
            second.store._after = first.store
            await asyncio.gather(second.store.load(0), first.store.load(1))
            assert order == ["first", "second"]

    asyncio.run(run())
