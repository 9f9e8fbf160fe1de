"""The outbox: what is settled is on the broker, in order."""

import asyncio

import pytest
from aiokafka.errors import MessageSizeTooLargeError

from agents.outbox import BATCH, Message, Outbox, Sender
from tests.integration.helpers import prepare, read


class App:
    """What an outbox needs of the app."""

    def __init__(self, settings):
        self.sender = Sender(settings.kafka)


def settle(settings, *batches):
    """Send these batches, one after the other, from several outboxes at once."""

    async def one(app, messages):
        outbox = Outbox(app)
        for message in messages:
            outbox.add(message)
        await outbox.settle()

    async def run():
        app = App(settings)
        try:
            await asyncio.gather(*(one(app, messages) for messages in batches))
        finally:
            await app.sender.close()

    asyncio.run(run())


def test_messages_arrive_in_order_whatever_their_size(settings):
    prepare(settings)
    topic = settings.topic("events")
    sizes = [10, BATCH // 2, BATCH // 2, BATCH // 2, 10, BATCH + 10, 10, 3 * BATCH, 0]
    settle(
        settings,
        [Message(topic, b"%d" % n, b"x" * size, 1, [("n", b"%d" % n)]) for n, size in enumerate(sizes)],
        [Message(topic, b"other", None, 0)],
    )
    found = read(settings, "events")
    ordered = [(int(record.key), len(record.value), dict(record.headers)) for record in found if record.partition == 1]
    assert ordered == [(n, size, {"n": b"%d" % n}) for n, size in enumerate(sizes)]
    assert [(record.key, record.value) for record in found if record.partition == 0] == [(b"other", None)]


def test_a_key_has_one_partition_and_a_message_without_any(settings):
    prepare(settings)
    topic = settings.topic("fingerprints")
    keys = [b"en", b"de", b"fr", b"es", None]
    settle(settings, *([Message(topic, key, b"x") for key in keys] for _ in range(3)))
    found = {}
    for record in read(settings, "fingerprints"):
        found.setdefault(record.key, []).append(record.partition)
    assert {key: len(partitions) for key, partitions in found.items()} == dict.fromkeys(keys, 3)
    assert all(len(set(found[key])) == 1 for key in keys if key)
    assert {partition for key in keys if key for partition in found[key]} == {0, 1}


def test_what_the_broker_refuses_is_raised(settings):
    prepare(settings)
    with pytest.raises(MessageSizeTooLargeError):
        settle(settings, [Message(settings.topic("events"), b"k", b"x" * 9 * 1024 * 1024, 0)])
