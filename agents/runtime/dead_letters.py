"""Dead letters: what a stage cannot work on goes to `<topic>.dlq` as it came, with headers that say why.

`work_through` is the one loop of all stages over their records, and decides what becomes of a record that cannot be worked on.
"""

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec
import structlog
from aiokafka.structs import ConsumerRecord

from agents.runtime.budget import budget
from agents.runtime.metrics import DEAD_LETTERS
from agents.runtime.producer import Message, Messages
from agents.runtime.spans import NO_SPANS, Spans
from pipeline.codec import InvalidRecord
from pipeline.kafka.dead_letters import CUT, OURS, REQUEUED, headers_of, kind
from pipeline.kafka.topics import LARGEST_MESSAGE
from pipeline.records import KIND, DeadLetter
from pipeline.times import from_millis

log = structlog.get_logger()

LARGEST_BYTES = int(LARGEST_MESSAGE) - 1_048_576
"""Bytes of a message that is kept whole as a dead letter ..."""
KEPT_BYTES = 1_048_576
"""... and of the key and of the value that are kept of a larger one. The header CUT says how many it had."""


class FailedOn(Exception):
    """A stage with state failed on a record in a way that nobody foresaw."""

    def __init__(self, record: ConsumerRecord, error: Exception) -> None:
        super().__init__(record.topic, record.partition, record.offset)
        self.record, self.error = record, error


def work_through(
    stage: str,
    records: Iterable[ConsumerRecord],
    work: Callable[[ConsumerRecord], str],
    messages: Messages,
    budget_s: float,
    spans: Spans = NO_SPANS,
    *,
    stateful: bool = False,
) -> Counter[str]:
    """Have `work` deal with records one by one; returns how many had each outcome that it returns.

    A record that is invalid becomes a dead letter, which is added to `messages`: its outcome is `dead`. So does one on which
    `work` fails otherwise, or for which it takes more than `budget_s` of processor time; but a stage with state may then be in a
    state that no record leads to, so that FailedOn is raised. Where a file or module cannot be read, it is not the record: that
    error is raised, and the worker ends with nothing acknowledged.
    """
    outcomes = Counter[str]()
    with budget(budget_s) as begin_next:
        for record in records:
            begin_next()
            span, made = spans.begin(record), len(messages)
            try:
                outcome = work(record)
            except (ImportError, OSError):
                raise
            except Exception as error:
                if span is not None:
                    spans.failed(span, error)
                if stateful and not isinstance(error, InvalidRecord):
                    raise FailedOn(record, error) from error
                messages.append(dead_letter(stage, record, error))
                outcome = "dead"
            else:
                if span is not None:
                    messages[made:] = spans.done(span, messages[made:], outcome)
            outcomes[outcome] += 1
    return outcomes


def dead_letter(stage: str, message: ConsumerRecord, error: Exception) -> Message:
    """What `stage` could not process, for its dead-letter topic: same key, value and headers, and ours added."""
    invalid = isinstance(error, InvalidRecord)
    reason = str(error) if invalid else f"{type(error).__name__}: {error}"
    why = DeadLetter(
        stage=stage,
        error=reason,
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        received_at=from_millis(message.timestamp),
    )
    theirs = [(name, value) for name, value in message.headers if not name.startswith(OURS) or name in {REQUEUED, KIND}]
    value, key = message.value, message.key
    size = len(value or b"") + len(key or b"") + sum(len(name) + len(said or b"") for name, said in theirs)
    headers = headers_of(why)
    if size > LARGEST_BYTES:  # it came compressed
        value, key, theirs = (value or b"")[:KEPT_BYTES], (key or b"")[:KEPT_BYTES] if key is not None else None, []
        headers.append((CUT, str(size).encode()))
    headers = [*theirs, *headers]
    DEAD_LETTERS.labels(stage, "invalid" if invalid else "failed", kind(reason)).inc()
    log.warning("dead letter", **msgspec.to_builtins(why))
    return Message(f"{message.topic}.dlq", key, value, headers=headers)
