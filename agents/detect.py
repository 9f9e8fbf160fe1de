"""The detect agent: `assignments` to `events`; its state is on the changelog `detection`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from typing import Any

import faust
from aiokafka.structs import ConsumerRecord

from agents.runtime.log_end import LogEnd
from agents.runtime.metrics import UPDATE_SECONDS, UPDATES, count, timed
from agents.runtime.producer import Message, Messages
from agents.runtime.rows import Changelog, StateOf
from agents.runtime.spans import traced
from agents.runtime.state import Partition, StateStore
from agents.runtime.transaction import transact
from agents.transport.batches import Raw, batches, by_partition
from pipeline.cloudevents import cloudevents
from pipeline.codec import decode, encode
from pipeline.config import Settings
from pipeline.kafka.decode import decode_record
from pipeline.records import (
    AMENDMENT,
    TICK,
    Amended,
    AmendedDetection,
    Assignment,
    Detection,
    DetectionPlace,
    EventUpdate,
    StreamTime,
)
from pipeline.stages.detect.amend import amend_events
from pipeline.stages.detect.restore import follow, restore
from pipeline.stages.detect.stage import check, check_amended, check_time, detect, tick_events
from pipeline.stages.detect.state import DetectState
from pipeline.times import from_millis

STAGE = "detect"


def declare(
    app: faust.App, settings: Settings, log_end: LogEnd, after: StateStore[Any, Any]
) -> StateStore[Detection, DetectState]:
    """Add the agent to the app; returns the store of its state, which loads after that of the stage before."""
    events = settings.topic("events")
    rule_of, weights = settings.detect_rules(), settings.score_weights()
    prefix = settings.topic_prefix if settings.cloudevents else None
    changelog = Changelog(settings, "detection")
    state_of = StateOf(
        Detection,
        AmendedDetection,
        attrgetter("amended"),
        _place,
        lambda edition: DetectState(rule_of(edition), weights),
        restore,
        follow,
    )
    store = StateStore(app, settings, STAGE, changelog, "assignments", state_of, log_end, after)

    @contextmanager
    def work(
        partition: Partition[DetectState], messages: Messages, end: int
    ) -> Iterator[Callable[[ConsumerRecord], str]]:
        yield _Batch(partition, changelog, events, messages, prefix, end).work_on

    @app.agent(app.topic(settings.topic("assignments"), schema=Raw()), name=STAGE)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        async for batch in batches(app, stream):
            for number, records in by_partition(batch).items():
                end = await log_end.of(number)  # what is read here was on the log before
                with timed(STAGE), traced(app.traces, STAGE) as spans:
                    outcomes = await transact(store, number, records, partial(work, end=end), spans)
                count(STAGE, outcomes)

    return store


@dataclass(frozen=True, slots=True)
class _Batch:
    """Works on a batch of a partition's records."""

    partition: Partition[DetectState]
    changelog: Changelog
    events: str
    messages: Messages
    prefix: str | None
    """of the topics, if messages get headers of CloudEvents"""
    end: int
    """where the log ends that positions count in"""

    def work_on(self, record: ConsumerRecord) -> str:
        """Work on a record; returns what became of it."""
        if TICK in record.headers:
            return self._tick(record)
        return self._amend(record) if AMENDMENT in record.headers else self._story(record)

    def _tick(self, record: ConsumerRecord) -> str:
        passed, number = decode_record(record, StreamTime), self.partition.number
        check_time(passed, self.end, from_millis(record.timestamp))
        state = self.partition.states.get(passed.edition)
        outcome = state and tick_events(state, passed)
        if not outcome:
            return "repeated"
        self.messages.extend(self.changelog.delete(number, outcome.expired))
        self.messages.append(self.changelog.time(number, passed.edition, encode(passed)))
        self._publish(outcome.updates)
        return "ticks"

    def _amend(self, record: ConsumerRecord) -> str:
        amended, number = decode_record(record, Amended), self.partition.number
        check_amended(amended, self.end, from_millis(record.timestamp))
        state = self.partition.states.get(amended.amendment.edition)
        outcome = state and amend_events(state, amended)
        if not outcome:
            return "refused" if amended.refused else "repeated"
        self.messages.append(self.changelog.amendment(number, amended.amendment.id, encode(outcome.row)))
        self._publish(outcome.updates)
        return "amended"

    def _story(self, record: ConsumerRecord) -> str:
        assignment, number = decode_record(record, Assignment), self.partition.number
        check(assignment, self.end, from_millis(record.timestamp))
        outcome = detect(self.partition.state(assignment.story.edition), assignment)
        if outcome is None:
            return "repeated"
        row = encode(outcome.row)
        self.messages.extend(self.changelog.delete(number, outcome.expired))
        self.messages.append(self.changelog.row(number, assignment.story.id, row, revision=assignment.revision))
        self._publish(outcome.updates)
        return "revised" if assignment.revision else "done"

    def _publish(self, updates: list[EventUpdate]) -> None:
        for update in updates:
            headers = cloudevents(update, self.prefix) if self.prefix is not None else ()
            key = update.event_id.encode()
            self.messages.append(Message(self.events, key, encode(update), self.partition.number, headers))
            UPDATES.labels(update.state).inc()
            if update.caused_by is not None:
                UPDATE_SECONDS.observe((datetime.now(UTC) - update.caused_by_received_at).total_seconds())


def _place(row: bytes) -> tuple[str, int]:
    found = decode(row, DetectionPlace).assignment
    return found.story.edition, found.position
