"""Dead letters: what cannot be processed goes to `<topic>.dlq` as it came, with headers that say why."""

import msgspec
import structlog
from aiokafka.structs import ConsumerRecord

from agents.metrics import DEAD_LETTERS
from agents.outbox import Message
from pipeline.dead_letters import OURS, REQUEUED, headers_of, kind
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
        *headers_of(why),
    ]
    DEAD_LETTERS.labels(stage, kind(reason)).inc()
    log.warning("dead letter", **msgspec.to_builtins(why))
    return Message(f"{message.topic}.dlq", message.key, message.value, headers=headers)
