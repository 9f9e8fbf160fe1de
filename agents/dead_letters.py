"""Dead letters: what cannot be processed goes to `<topic>.dlq` as it came, with headers that say why."""

import structlog
from aiokafka.structs import ConsumerRecord

from agents.metrics import RECORDS
from agents.outbox import Message, Outbox
from pipeline.records import DeadLetter
from pipeline.times import from_millis

log = structlog.get_logger()


def bury(outbox: Outbox, stage: str, message: ConsumerRecord, error: Exception) -> None:
    """Send what `stage` could not process to its dead-letter topic: same key, value and headers, and ours added."""
    reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    letter = DeadLetter(
        stage=stage,
        error=reason,
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        received_at=from_millis(message.timestamp),
    )
    headers = [
        *((name, value) for name, value in message.headers if not name.startswith("newsburst-")),
        *((f"newsburst-{field.replace('_', '-')}", text.encode()) for field, text in _texts(letter)),
    ]
    outbox.add(Message(f"{message.topic}.dlq", message.key, message.value, headers=headers))
    RECORDS.labels(stage, "dead").inc()
    log.warning("dead letter", **dict(_texts(letter)))


def _texts(letter: DeadLetter) -> list[tuple[str, str]]:
    return [
        ("stage", letter.stage),
        ("error", letter.error),
        ("topic", letter.topic),
        ("partition", str(letter.partition)),
        ("offset", str(letter.offset)),
        ("received_at", letter.received_at.isoformat()),
    ]
