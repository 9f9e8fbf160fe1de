"""Tables: what is loaded is what the changelog holds, and only what nobody else can have written stays."""

import asyncio
from types import SimpleNamespace

import pytest
from aiokafka import TopicPartition

from agents.outbox import Outbox, Sender
from agents.tables import StageTable
from pipeline.records import Assignment, encode
from pipeline.stages.lifetimes import Dropped
from tests.integration.helpers import prepare
from tests.make import assignment


class Signal:
    """A signal of Faust's, as far as tables use it."""

    def connect(self, receiver, **_):
        self.send = receiver


def table(settings, app):
    """A table whose editions are the sets of story ids that they were restored from."""
    return StageTable(
        app, settings, "clustering", "fingerprints", Assignment, lambda row: row.story.edition, lambda _: set(),
        lambda edition, rows: edition.update(row.story.id for row in rows),
    )  # fmt: skip


@pytest.fixture
def app(settings):
    return SimpleNamespace(sender=Sender(settings.kafka), on_partitions_assigned=Signal(), consumer_generation_id=0)


def put(rows, app, partition, *story_ids):
    outbox = Outbox(app)
    for story_id in story_ids:
        rows.put(outbox, partition, story_id, encode(assignment(1, "ca", story_id)))
    return outbox


def test_what_was_put_and_not_dropped_is_loaded(settings, app):
    prepare(settings)

    async def run():
        rows = table(settings, app)
        await rows.settle(put(rows, app, 0, "a", "b", "a", "c"))
        await rows.settle(put(rows, app, 1, "z"))
        rows.drop(0, Dropped([], ["b"]))
        await rows.settle(Outbox(app))
        again = table(settings, app)
        await again.load({0, 1})
        assert again.edition(0, "en") == {"a", "c"}
        assert again.edition(1, "en") == {"z"}
        assert again.edition(0, "de") == set()
        await app.sender.close()

    asyncio.run(run())


async def assigned(settings, app, generation, *partitions):
    app.consumer_generation_id = generation
    ours = {TopicPartition(settings.topic("fingerprints"), partition) for partition in partitions}
    others = {TopicPartition(settings.topic("stories"), partition) for partition in range(9)}
    await app.on_partitions_assigned.send(app, ours | others)


def test_a_partition_keeps_its_state_only_from_one_generation_to_the_next(settings, app):
    prepare(settings)

    async def run():
        rows = table(settings, app)
        await assigned(settings, app, 1, 0, 1)
        await rows.load({0, 1})
        rows.edition(0, "en").add("mark")
        await assigned(settings, app, 2, 0)  # partition 1 went, 0 stayed
        assert rows.edition(0, "en") == {"mark"}
        with pytest.raises(KeyError):
            rows.edition(1, "en")
        await assigned(settings, app, 4, 0)  # another may have had it in between
        await rows.load({0})
        assert rows.edition(0, "en") == set()
        await app.sender.close()

    asyncio.run(run())


def test_what_changes_hands_while_it_is_loaded_is_loaded_again(settings, app):
    prepare(settings)

    async def run():
        rows = table(settings, app)
        await assigned(settings, app, 1, 0)
        reads = []
        read = rows._read

        async def slow(partition):
            found = await read(partition)
            reads.append(partition)
            if len(reads) == 1:
                await rows.settle(put(rows, app, 0, "late"))
                await assigned(settings, app, 3, 0)
            return found

        rows._read = slow
        await rows.load({0})
        assert (reads, rows.edition(0, "en")) == ([0, 0], {"late"})
        await app.sender.close()

    asyncio.run(run())
