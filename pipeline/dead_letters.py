"""Dead letters: messages that a stage could not process, kept as they came; look at them, and send them again.

A letter is named by its place, `topic:partition:offset`, where `topic` is the one it was read from. To send a letter again puts
its message on that topic once more and notes its name on the topic `requeued`, both or neither. If the message fails again, that
makes another letter; after MOST times it is sent only when it is named, so that nothing goes in circles.
"""

import re
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
from aiokafka import AIOKafkaProducer
from aiokafka.structs import ConsumerRecord

from pipeline.config import Settings
from pipeline.connection import connection
from pipeline.listen import listen
from pipeline.records import DeadLetter
from pipeline.times import from_millis
from pipeline.topics import LARGEST_MESSAGE, STREAMS, group

OURS = "newsburst-"
"""How the names of our headers begin."""
REQUEUED = "newsburst-requeued"
"""Header: how often the message has been sent again."""
MOST = 3
"""How often a message is sent again before it has to be named."""


class Letter(NamedTuple):
    """A dead letter."""

    name: str
    why: DeadLetter
    at: datetime
    """when it became one"""
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    """those that the message came with"""
    requeued: int
    """how often the message had been sent again before"""
    done: bool
    """whether it has been sent again since"""


async def letters(settings: Settings) -> AsyncIterator[Letter]:
    """All dead letters, those of a topic's partition in order. Raises BrokerError."""
    done = {record.key.decode() async for record in listen(settings, ["requeued"]) if record.value is not None}
    async for record in listen(settings, [f"{stream}.dlq" for stream in STREAMS]):
        yield _letter(settings, record, done)


def kind(error: str) -> str:
    """What is wrong, in so few words that one can count by them: `Wrong Story: url`, without the value."""
    parts = error.split(": ")
    words = ": ".join(parts[:2]) if parts[0].startswith("Wrong ") else parts[0]
    return re.sub(r"\[[^]]*\]", "[]", words)


def headers_of(why: DeadLetter) -> list[tuple[str, bytes]]:
    """The headers that say why."""
    fields: dict[str, str | int] = msgspec.to_builtins(why)
    return [(_header(field), str(value).encode()) for field, value in fields.items()]


def _header(field: str) -> str:
    return OURS + field.replace("_", "-")


def _letter(settings: Settings, record: ConsumerRecord, done: set[str]) -> Letter:
    stream = record.topic.removeprefix(f"{settings.topic_prefix}.").removesuffix(".dlq")
    name = f"{stream}:{record.partition}:{record.offset}"
    headers = {key: value.decode(errors="replace") for key, value in record.headers if key.startswith(OURS)}
    at = from_millis(record.timestamp)
    unknown = {
        "stage": "?",
        "error": "?",
        "topic": settings.topic(stream),
        "partition": record.partition,
        "offset": -1,
        "received_at": at,
    }
    said = {field: headers.get(_header(field), value) for field, value in unknown.items()}
    why = msgspec.convert(said, DeadLetter, strict=False)
    own = tuple((key, value) for key, value in record.headers if not key.startswith(OURS))
    return Letter(name, why, at, record.key, record.value, own, int(headers.get(REQUEUED, 0)), name in done)


async def requeue(settings: Settings, chosen: Iterable[Letter]) -> int:
    """Send these messages to the topics and partitions that they were read from, each with its note; returns how many."""
    producer = AIOKafkaProducer(
        **connection(settings),
        transactional_id=f"{group(settings)}-requeue",
        max_request_size=int(LARGEST_MESSAGE),
    )
    count = 0
    try:
        await producer.start()
        for letter in chosen:
            headers = [*letter.headers, (REQUEUED, str(letter.requeued + 1).encode())]
            async with producer.transaction():
                await producer.send(
                    letter.why.topic, letter.value, letter.key, partition=letter.why.partition, headers=headers
                )
                noted = datetime.now(UTC).isoformat().encode()
                await producer.send(settings.topic("requeued"), noted, letter.name.encode())
            count += 1
    finally:
        await producer.stop()
    return count
