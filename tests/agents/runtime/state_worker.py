"""A state store as a worker has it, and what it wrote."""

from contextlib import contextmanager
from types import SimpleNamespace

from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

from agents.runtime.producer import Message
from agents.runtime.rows import Changelog, StateOf
from agents.runtime.state import StateStore
from agents.runtime.transaction import transact
from pipeline.codec import decode, encode
from pipeline.records import Amended, Assignment, Place
from tests.integration.helpers import read
from tests.make import assignment


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
            StateOf(Assignment, Amended, lambda row: row, place, lambda _: set(), self.restore, self.restore), self.log_end,
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
        outcomes = await transact(self.store, number, records, work)
        assert outcomes.total() in {0, len(story_ids)}
        return new if outcomes or not story_ids else None

    async def write(self, *messages):
        """Write rows."""

        @contextmanager
        def work(_, collected):
            collected.extend(messages)
            yield None

        await transact(self.store, 0, [], work)

    async def stories(self, number):
        """The stories that the worker holds."""
        return set((await self.store.load(number)).state("en"))


def told(settings):
    return sorted(record.key.decode() for record in read(settings, "events"))
