"""Dead letters: what cannot be processed goes to `<topic>.dlq` as it came, with headers that say why."""

import structlog
from aiokafka.structs import ConsumerRecord

from agents.outbox import Message
from pipeline.dead_letters import OURS, REQUEUED
from pipeline.records import DeadLetter
from pipeline.times import from_millis

log = structlog.get_logger()


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
    headers = [
        *((name, value) for name, value in message.headers if not name.startswith(OURS) or name == REQUEUED),
        *((f"{OURS}{field.replace('_', '-')}", text.encode()) for field, text in _texts(why)),
    ]
    log.warning("dead letter", **dict(_texts(why)))
    return Message(f"{message.topic}.dlq", message.key, message.value, headers=headers)


def _texts(why: DeadLetter) -> list[tuple[str, str]]:
    return [
        ("stage", why.stage),
        ("error", why.error),
        ("topic", why.topic),
        ("partition", str(why.partition)),
        ("offset", str(why.offset)),
        ("received_at", why.received_at.isoformat()),
    ]
