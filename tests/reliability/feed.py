"""A feed that is as bad as feeds are: real headlines, repeated, revised, out of order, with wrong clocks and garbage between."""

import asyncio
import random
import time
from datetime import timedelta
from itertools import cycle

import msgspec
from aiokafka import AIOKafkaProducer

from pipeline.codec import InvalidRecord, decode, encode
from pipeline.kafka.connection import connection
from pipeline.records import Story
from tests import sample

LANGUAGES = ("en", "de", "fr", "es")
REPEATED, REVISED, SHUFFLED, WRONG_CLOCK, GARBAGE = 0.3, 0.03, 500, 0.01, 0.003
"""Shares of messages; and among how many of its neighbours a story may come."""


def messages(count, seed):
    """So many messages, as (id, value); the id is None for what is no story."""
    shuffle = random.Random(seed)
    made, fresh = [], _stories()
    while len(made) < count:
        draw = shuffle.random()
        if made and draw < REPEATED:
            made.append(shuffle.choice(made[-20_000:]))
        elif made and draw < REPEATED + REVISED:
            story_id, value = shuffle.choice(made[-20_000:])
            made.append((story_id, value and _revised(value, shuffle)))
        elif draw > 1 - GARBAGE:
            made.append((None, shuffle.choice([b"", b"{", b"\xff\xfe", b"[1]", b'{"title": "no url"}'])))
        else:
            story = next(fresh)
            if shuffle.random() < WRONG_CLOCK:
                hours = timedelta(hours=shuffle.randint(-200, 12))
                story = msgspec.structs.replace(story, crawled_at=story.crawled_at + hours)
            made.append((story.id, encode(story)))
    order = sorted(range(count), key=lambda number: number + shuffle.random() * SHUFFLED)
    return [made[number] for number in order]


def _revised(value, shuffle):
    """A story with another headline, or retracted, or both; what is no story stays as it is."""
    try:
        story = decode(value, Story)
    except InvalidRecord:
        return value
    title = f"{story.title} (updated {shuffle.randint(1, 9)})" if shuffle.random() < 0.7 else story.title
    return encode(msgspec.structs.replace(story, title=title, retracted=shuffle.random() < 0.4))


def _stories():
    """The sample again and again, some days later each time, in several languages in turn."""
    given = [decode(line, Story) for line in sample.lines()]
    showing = 0
    while True:
        languages = cycle(LANGUAGES)
        for story in given:
            language = next(languages)
            yield msgspec.structs.replace(
                story,
                id=f"{language}-{showing}-{story.id}",
                url=f"{story.url}?{language}{showing}",
                language=language,
                crawled_at=story.crawled_at + timedelta(days=4 * showing),
            )
        showing += 1


async def feed(settings, feed_messages, seconds):
    """Send all messages within so many seconds; returns the ids of the stories that the broker has."""
    producer = AIOKafkaProducer(
        **connection(settings), acks="all", enable_idempotence=True, linger_ms=20, request_timeout_ms=300_000
    )
    await producer.start()
    start, sent = time.monotonic(), set()
    try:
        for number, (story_id, value) in enumerate(feed_messages):
            if number % 50 == 0:
                await asyncio.sleep(max(0, start + seconds * number / len(feed_messages) - time.monotonic()))
            key = story_id.partition("-")[0].encode() if story_id else None
            await producer.send(settings.topic("stories"), value, key=key)
            if story_id:
                sent.add(story_id)
        await producer.flush()
    finally:
        await producer.stop()
    return sent
