"""Dead letters: messages that a stage could not process, kept as they came; look at them, and send them again.

A letter is named by its place, `topic:partition:offset`, where `topic` is the one it was read from. To send a letter again puts
its message on that topic once more and notes its name on the topic `requeued`, both or neither. If the message fails again, that
makes another letter; after MAX_REQUEUES times it is sent only when it is named, so that nothing goes in circles.
"""

import re
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
from aiokafka import AIOKafkaProducer
from aiokafka.structs import ConsumerRecord

from pipeline.config import Settings
from pipeline.kafka.admin import BrokerError
from pipeline.kafka.connection import connection
from pipeline.kafka.read import listen
from pipeline.kafka.topics import LARGEST_MESSAGE, RETRY, STREAMS, group
from pipeline.records import KIND, DeadLetter, Story
from pipeline.times import from_millis

OURS = "newsburst-"
"""How the names of our headers begin."""
REQUEUED = "newsburst-requeued"
"""Header: how often the message has been sent again."""
CUT = "newsburst-cut"
"""Header: how many bytes the message had, of which only the first were kept."""
FROM = "newsburst-from"
"""Header on the topic RETRY: the topic that the message was read from."""
FIELDS = frozenset(Story.__struct_fields__)
_VALUE = re.compile(r"`[^`]*`|'[^']*'|\([^)]*\)|U\+[0-9A-F]+")
MAX_DIGITS = 10
MAX_REQUEUES = 3
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
    cut: int = 0
    """how many bytes the message had, if only the first of them were kept"""


async def letters(settings: Settings) -> AsyncIterator[Letter]:
    """All dead letters, those of a topic's partition in order. Raises BrokerError."""
    done = {
        record.key.decode(errors="replace")
        async for record in listen(settings, ["requeued"])
        if record.key is not None and record.value is not None
    }
    async for record in listen(settings, [f"{stream}.dlq" for stream in (*STREAMS, RETRY)]):
        yield _letter(settings, record, done)


def kind(error: str) -> str:
    """What is wrong, in so few words that one can count by them: "`url` is no address of the web", without the value."""
    if error.startswith("Wrong "):
        error = ": ".join(error.split(": ")[:2])
    words = _VALUE.sub(lambda quoted: quoted[0] if quoted[0].strip("`") in FIELDS else "...", error.split(": ")[0])
    words = re.sub(r"\[[^]]*\]", "[]", error if error.startswith("Wrong ") else words)
    return words if words.endswith("...") else words.removesuffix(".")


def headers_of(why: DeadLetter) -> list[tuple[str, bytes]]:
    """The headers that say why."""
    fields: dict[str, str | int] = msgspec.to_builtins(why)
    return [(_header(field), str(value).encode()) for field, value in fields.items()]


def _header(field: str) -> str:
    return OURS + field.replace("_", "-")


def _letter(settings: Settings, record: ConsumerRecord, done: set[str]) -> Letter:
    stream = record.topic.removeprefix(f"{settings.topic_prefix}.").removesuffix(".dlq")
    name = f"{stream}:{record.partition}:{record.offset}"
    headers = {key: (value or b"").decode(errors="replace") for key, value in record.headers if key.startswith(OURS)}
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
    try:
        why = msgspec.convert(said, DeadLetter, strict=False)
    except msgspec.ValidationError:  # written by others
        why = msgspec.convert(unknown | {"error": headers.get(_header("error"), "?")}, DeadLetter)
    own = tuple((key, value) for key, value in record.headers if not key.startswith(OURS) or key == KIND)
    return Letter(
        name, why, at, record.key, record.value, own, _number(headers, REQUEUED), name in done, _number(headers, CUT)
    )


def _number(headers: dict[str, str], name: str) -> int:
    """A header that should be a number: anyone may have written it."""
    said = headers.get(name, "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < MAX_DIGITS else 0


def unsendable(settings: Settings, letter: Letter) -> str:
    """Why a message cannot be sent again; nothing if it can."""
    if letter.cut:
        return (
            f"only the first of its {letter.cut:,} bytes are here. While it is on {letter.why.topic}, at most a week, "
            f"`newsburst seek {letter.why.topic}:{letter.why.partition}:{letter.why.offset}` has it read again."
        )
    if letter.why.stage == "detect":
        return "what follows it has been counted without it. Send its story again with another id."
    if letter.why.topic not in {settings.topic(name) for name in STREAMS}:
        return f"{letter.why.topic!r} is no topic of ours."
    return ""


async def requeue(settings: Settings, chosen: Iterable[Letter]) -> int:
    """Send these messages to the topics and partitions that they were read from, each with its note; returns how many.

    What the store could not write goes to the topic RETRY instead, which the store alone reads: others have had it from the topic
    that it came from. Raises BrokerError for letters that cannot be sent.
    """
    producer = AIOKafkaProducer(
        **connection(settings),
        transactional_id=f"{group(settings)}-requeue",
        max_request_size=int(LARGEST_MESSAGE),
    )
    count = 0
    try:
        await producer.start()
        for letter in chosen:
            if wrong := unsendable(settings, letter):
                raise BrokerError(f"{letter.name}: {wrong}")
            headers = [*letter.headers, (REQUEUED, str(letter.requeued + 1).encode())]
            topic = letter.why.topic
            if letter.why.stage == "store":
                headers.append((FROM, topic.encode()))
                topic = settings.topic(RETRY)
            async with producer.transaction():
                await producer.send(topic, letter.value, letter.key, partition=letter.why.partition, headers=headers)
                noted = datetime.now(UTC).isoformat().encode()
                await producer.send(settings.topic("requeued"), noted, letter.name.encode())
            count += 1
    finally:
        await producer.stop()
    return count
