"""Dead letters: what cannot be processed goes to `<topic>.dlq` as it came, with headers that say why."""

import msgspec
import structlog
from aiokafka.structs import ConsumerRecord

from agents.metrics import DEAD_LETTERS
from agents.outbox import Message
from pipeline.dead_letters import CUT, OURS, REQUEUED, headers_of, kind
from pipeline.records import DeadLetter
from pipeline.times import from_millis
from pipeline.topics import LARGEST_MESSAGE

log = structlog.get_logger()


LARGEST = int(LARGEST_MESSAGE) - 1_048_576
"""Bytes of a message that is kept whole as a dead letter ..."""
KEPT = 1_048_576
"""... and of the key and of the value that are kept of a larger one. The header CUT says how many it had."""


def letter(stage: str, message: ConsumerRecord, error: Exception) -> Message:
    """What `stage` could not process, for its dead-letter topic: same key, value and headers, and ours added."""
    reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    why = DeadLetter(
        stage=stage,
        error=reason,
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        received_at=from_millis(message.timestamp),
    )
    theirs = [(name, value) for name, value in message.headers if not name.startswith(OURS) or name == REQUEUED]
    value, key = message.value, message.key
    size = len(value or b"") + len(key or b"") + sum(len(name) + len(said or b"") for name, said in theirs)
    headers = headers_of(why)
    if size > LARGEST:  # it came compressed
        value, key, theirs = (value or b"")[:KEPT], (key or b"")[:KEPT] if key is not None else None, []
        headers.append((CUT, str(size).encode()))
    headers = [*theirs, *headers]
    DEAD_LETTERS.labels(stage, kind(reason)).inc()
    log.warning("dead letter", **msgspec.to_builtins(why))
    return Message(f"{message.topic}.dlq", key, value, headers=headers)
