"""The sender: what is sent is on the broker, in order; in a transaction all of it or nothing."""

import asyncio

import pytest
from aiokafka.errors import (
    InvalidProducerEpoch,
    KafkaConnectionError,
    KafkaError,
    MessageSizeTooLargeError,
    NotLeaderForPartitionError,
    ProducerClosed,
    ProducerFenced,
    TopicAuthorizationFailedError,
)

from agents.runtime.producer import BATCH_BYTES, Message, PackedProducer, is_transient
from tests.integration.helpers import make_topics, read


@pytest.fixture
def settings(kafka_settings):
    return kafka_settings


def send(settings, *batches, transactional_id=None):
    """Send these batches, at once unless they are transactions."""

    async def run():
        sender = PackedProducer(settings, transactional_id)
        try:
            if transactional_id is None:
                await asyncio.gather(*(sender.send(messages) for messages in batches))
            else:
                for messages in batches:
                    await sender.send(messages)
        finally:
            await sender.close()

    asyncio.run(run())


@pytest.mark.parametrize("transactional_id", [None, "one"])
def test_messages_arrive_in_order_whatever_their_size(settings, transactional_id):
    make_topics(settings)
    topic = settings.topic("events")
    sizes = [10, BATCH_BYTES // 2, BATCH_BYTES // 2, BATCH_BYTES // 2, 10, BATCH_BYTES + 10, 10, 3 * BATCH_BYTES, 0]
    send(
        settings,
        [Message(topic, b"%d" % n, b"x" * size, 1, [("n", b"%d" % n)]) for n, size in enumerate(sizes)],
        [Message(topic, b"other", None, 0)],
        transactional_id=transactional_id and f"{settings.topic_prefix}-{transactional_id}",
    )
    found = read(settings, "events")
    ordered = [(int(record.key), len(record.value), dict(record.headers)) for record in found if record.partition == 1]
    assert ordered == [(n, size, {"n": b"%d" % n}) for n, size in enumerate(sizes)]
    assert [(record.key, record.value) for record in found if record.partition == 0] == [(b"other", None)]


def test_a_key_has_one_partition_and_a_message_without_any(settings):
    make_topics(settings)
    topic = settings.topic("fingerprints")
    keys = [b"en", b"de", b"fr", b"es", None]
    send(settings, *([Message(topic, key, b"x") for key in keys] for _ in range(3)))
    found = {}
    for record in read(settings, "fingerprints"):
        found.setdefault(record.key, []).append(record.partition)
    assert {key: len(partitions) for key, partitions in found.items()} == dict.fromkeys(keys, 3)
    assert all(len(set(found[key])) == 1 for key in keys if key)
    assert {partition for key in keys if key for partition in found[key]} == {0, 1}


def test_what_the_broker_refuses_is_raised(settings):
    make_topics(settings)
    with pytest.raises(MessageSizeTooLargeError):
        send(settings, [Message(settings.topic("events"), b"k", b"x" * 9 * 1024 * 1024, 0)])


def test_the_last_to_start_shuts_out_the_others_and_undoes_what_they_began(settings):
    make_topics(settings)
    topic, name = settings.topic("events"), f"{settings.topic_prefix}-events"

    async def run():
        frozen, owner = PackedProducer(settings, name), PackedProducer(settings, name)
        await frozen.send([Message(topic, b"1", b"committed", 0)])
        producer = await frozen.start()
        await producer.begin_transaction()
        await frozen._send(producer, [Message(topic, b"2", b"begun", 0)])
        await owner.start()
        with pytest.raises((ProducerFenced, InvalidProducerEpoch)):
            await producer.commit_transaction()
        await owner.send([Message(topic, b"3", b"committed", 0)])
        await frozen.close()
        await owner.close()

    asyncio.run(run())
    assert [(record.key, record.value) for record in read(settings, "events")] == [
        (b"1", b"committed"),
        (b"3", b"committed"),
    ]


def test_what_is_under_way_when_it_is_closed_comes_to_an_end(settings):
    make_topics(settings)

    async def run():
        sender = PackedProducer(settings, f"{settings.topic_prefix}-events")
        producer = await sender.start()
        committing = asyncio.Event()

        async def commit_for_ever():
            committing.set()
            await asyncio.Event().wait()

        producer.commit_transaction = commit_for_ever
        under_way = asyncio.create_task(sender.send([Message(settings.topic("events"), b"1", b"x", 0)]))
        await committing.wait()
        await sender.close()
        with pytest.raises(ProducerClosed):
            await under_way

    asyncio.run(run())
    assert read(settings, "events") == []


def test_one_who_is_stopped_while_it_sends_stops(settings):
    make_topics(settings)

    async def run():
        sender = PackedProducer(settings)
        producer = await sender.start()

        async def send_for_ever(*_, **__):
            await asyncio.Event().wait()

        producer.send_batch = send_for_ever
        sending = asyncio.create_task(sender.send([Message(settings.topic("events"), b"1", b"x", 0)]))
        await asyncio.sleep(0.1)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await sender.close()

    asyncio.run(run())


def wrapped(outer, inner):
    """An error that was raised from another."""
    try:
        try:
            raise inner
        except KafkaError as error:
            raise outer from error
    except KafkaError as error:
        return error


@pytest.mark.parametrize(
    ("error", "passing"),
    [
        (KafkaConnectionError("gone"), True),
        (wrapped(KafkaError("Unexpected error during batch delivery"), KafkaConnectionError("gone")), True),
        (wrapped(KafkaError("outer"), wrapped(KafkaError("inner"), NotLeaderForPartitionError())), True),
        (KafkaError("Unexpected error during coordination KafkaConnectionError('Connection at 127.0.0.1:1 closed')"), True),
        (KafkaError("something else"), False),
        (wrapped(KafkaError("outer"), TopicAuthorizationFailedError("t")), False),
        (MessageSizeTooLargeError(), False),
    ],
)  # fmt: skip
def test_an_error_that_passes_passes_however_it_is_wrapped(error, passing):
    assert is_transient(error) is passing


def test_errors_that_are_raised_from_one_another_in_a_circle_are_looked_at_once():
    first, second = ValueError("first"), ValueError("second")
    first.__context__, second.__context__ = second, first
    assert not is_transient(first)
