"""Ticks: they come when all that came before is done with, and only then."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from agents.runtime.producer import PackedProducer
from agents.runtime.ticks import keep_ticking
from pipeline.kafka.decode import decode_tick
from pipeline.kafka.progress import GroupProgress
from pipeline.kafka.topics import group
from pipeline.records import TICK
from pipeline.times import from_millis
from tests.integration.helpers import make_topics, read, send


@pytest.fixture
def settings(kafka_settings):
    return kafka_settings


async def let_tick(settings, seconds, living=lambda: [(1, "en")]):
    """Write ticks for so long, looking often."""
    sender = PackedProducer(settings)
    ticking = asyncio.ensure_future(keep_ticking(settings, sender, living, every=0.5))
    await asyncio.sleep(seconds)
    ticking.cancel()
    await asyncio.gather(ticking, return_exceptions=True)
    await sender.close()


async def commit(settings):
    """Have all that is there count as done, as workers do."""
    from aiokafka import AIOKafkaConsumer

    async with GroupProgress(settings) as progress:
        ends = await progress.ends(["stories", "normalised", "fingerprints"])
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.kafka, group_id=group(settings), enable_auto_commit=False)
    await consumer.start()
    consumer.assign(list(ends))
    await consumer.commit(ends)
    await consumer.stop()


def ticks(settings):
    return [record for record in read(settings, "fingerprints") if TICK in record.headers]


def test_a_tick_says_that_all_up_to_the_look_is_done(settings):
    make_topics(settings)
    asyncio.run(let_tick(settings, 4))
    found = ticks(settings)
    first = decode_tick(found[0])
    assert (found[0].partition, first.edition) == (1, "en")
    behind = from_millis(found[0].timestamp) - first.at
    assert timedelta(0) < behind < timedelta(seconds=4), "the time that it took stories to go all the way"
    assert abs(datetime.now(UTC) - first.at) < timedelta(minutes=1)


def test_no_tick_overtakes_a_story_that_waits(settings):
    make_topics(settings)
    send(settings, "stories", [(b"en", b"waits")])
    asyncio.run(let_tick(settings, 3))
    assert ticks(settings) == []
    asyncio.run(commit(settings))
    asyncio.run(let_tick(settings, 4))
    assert ticks(settings) != []


def test_an_edition_in_which_nothing_lives_gets_none(settings):
    make_topics(settings)
    asyncio.run(let_tick(settings, 3, living=list))
    assert ticks(settings) == []
