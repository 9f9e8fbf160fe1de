"""The detect agent: `assignments` to `events`; its state is on the changelog `detection`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

import faust
from aiokafka.structs import ConsumerRecord

from agents.runtime.log_end import LogEnd
from agents.runtime.metrics import UPDATE_SECONDS, count
from agents.runtime.producer import Message, Messages
from agents.runtime.rows import Changelog, StateOf
from agents.runtime.state import Partition, StateStore
from agents.runtime.transaction import transact
from agents.transport.batches import Raw, batches, by_partition
from pipeline.codec import decode, encode
from pipeline.config import Settings
from pipeline.kafka.decode import decode_record
from pipeline.records import KIND, Assignment, Detection, DetectionPlace, EventUpdate, StreamTime
from pipeline.stages.detect.stage import check, check_time, detect, tick_events
from pipeline.stages.detect.state import DetectState, restore
from pipeline.times import from_millis

STAGE = "detect"


def declare(
    app: faust.App, settings: Settings, log_end: LogEnd, after: StateStore[Any, Any]
) -> StateStore[Detection, DetectState]:
    """Add the agent to the app; returns the store of its state, which loads after that of the stage before."""
    events = settings.topic("events")
    rule_of, weights = settings.detect_rules(), settings.score_weights()
    changelog = Changelog(settings, "detection")
    state_of = StateOf(Detection, _place, lambda edition: DetectState(rule_of(edition), weights), restore)
    store = StateStore(app, settings, STAGE, changelog, "assignments", state_of, log_end, after)

    @contextmanager
    def work(
        partition: Partition[DetectState], messages: Messages, end: int
    ) -> Iterator[Callable[[ConsumerRecord], str]]:
        number = partition.number

        def work_on(record: ConsumerRecord) -> str:
            return tick(record) if KIND in record.headers else story(record)

        def tick(record: ConsumerRecord) -> str:
            passed = decode_record(record, StreamTime)
            check_time(passed, end, from_millis(record.timestamp))
            state = partition.states.get(passed.edition)
            outcome = state and tick_events(state, passed)
            if not outcome:
                return "repeated"
            messages.extend(changelog.delete(number, outcome.expired))
            messages.append(changelog.time(number, passed.edition, encode(passed)))
            publish(outcome.updates)
            return "ticks"

        def story(record: ConsumerRecord) -> str:
            assignment = decode_record(record, Assignment)
            check(assignment, end, from_millis(record.timestamp))
            outcome = detect(partition.state(assignment.story.edition), assignment)
            if outcome is None:
                return "repeated"
            row = encode(outcome.row)
            messages.extend(changelog.delete(number, outcome.expired))
            messages.append(changelog.row(number, assignment.story.id, row, revision=assignment.revision))
            publish(outcome.updates)
            return "revised" if assignment.revision else "done"

        def publish(updates: list[EventUpdate]) -> None:
            for update in updates:
                messages.append(Message(events, update.event_id.encode(), encode(update), number))
                if update.caused_by is not None:
                    UPDATE_SECONDS.observe((datetime.now(UTC) - update.caused_by_received_at).total_seconds())

        yield work_on

    @app.agent(app.topic(settings.topic("assignments"), schema=Raw()), name=STAGE)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        async for batch in batches(app, stream):
            for number, records in by_partition(batch).items():
                end = await log_end.of(number)  # what is read here was on the log before
                count(STAGE, await transact(store, number, records, partial(work, end=end)))

    return store


def _place(row: bytes) -> tuple[str, int]:
    found = decode(row, DetectionPlace).assignment
    return found.story.edition, found.position
