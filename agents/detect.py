"""The detect agent: `assignments` to `events`, on the table `detection`."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import faust
from aiokafka.structs import ConsumerRecord

from agents.batches import Raw, batches, by_partition
from agents.dead_letters import letter
from agents.metrics import UPDATE_SECONDS, count
from agents.outbox import Message, Outbox
from agents.tables import Partition, StageTable
from pipeline.config import Settings
from pipeline.records import (
    KIND,
    Assignment,
    Detection,
    DetectionPlace,
    EventUpdate,
    InvalidRecord,
    StreamTime,
    decode,
    encode,
)
from pipeline.stages import clustering
from pipeline.stages.counting import Edition, restore
from pipeline.stages.detect import check, check_time, detect, tick
from pipeline.times import from_millis
from pipeline.unreadable import read

STAGE = "detect"


def declare(
    app: faust.App, settings: Settings, after: StageTable[Assignment, clustering.Edition]
) -> StageTable[Detection, Edition]:
    """Add the agent to the app, behind the stage that has the table `after`; returns its own."""
    topic = settings.topic("events")
    rule, weights = settings.detect_rule(), settings.score_weights()
    table = StageTable(
        app,
        settings,
        STAGE,
        "detection",
        "assignments",
        Detection,
        _place_of,
        lambda _: Edition(rule, weights),
        restore,
        after,
    )

    def say(updates: list[EventUpdate], number: int, outbox: Outbox) -> None:
        for update in updates:
            outbox.append(Message(topic, update.event_id.encode(), encode(update), number))
            if update.caused_by is not None:
                UPDATE_SECONDS.observe((datetime.now(UTC) - update.caused_by_received_at).total_seconds())

    def pass_time(partition: Partition[Edition], record: ConsumerRecord, outbox: Outbox, end: int) -> bool:
        passed, number = read(record, StreamTime), partition.number
        check_time(passed, end, from_millis(record.timestamp))
        edition = partition.editions.get(passed.edition)
        outcome = edition and tick(edition, passed)
        if not outcome:
            return False
        outbox += table.drop(number, outcome.dropped)
        outbox.append(table.time(number, passed.edition, encode(passed)))
        say(outcome.updates, number, outbox)
        return True

    def work(
        partition: Partition[Edition], records: Iterator[ConsumerRecord], outbox: Outbox, end: int
    ) -> Counter[str]:
        number, outcomes = partition.number, Counter[str]()
        for record in records:
            try:
                if KIND in record.headers:
                    outcomes["ticks" if pass_time(partition, record, outbox, end) else "repeated"] += 1
                    continue
                assignment = read(record, Assignment)
                check(assignment, end, from_millis(record.timestamp))
                outcome = detect(partition.edition(assignment.story.edition), assignment)
            except InvalidRecord as error:
                outbox.append(letter(STAGE, record, error))
                outcomes["dead"] += 1
                continue
            if outcome is None:
                outcomes["repeated"] += 1
                continue
            outbox += table.drop(number, outcome.dropped)
            outbox.append(table.row(number, assignment.story.id, encode(outcome.row), revision=assignment.revision))
            say(outcome.updates, number, outbox)
            outcomes["revised" if assignment.revision else "done"] += 1
        return outcomes

    @app.agent(app.topic(settings.topic("assignments"), schema=Raw()), name=STAGE)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        async for batch in batches(app, stream):
            for number, records in by_partition(batch).items():
                end = await table.end_of_log(number)  # what is read here was on the log before
                count(STAGE, await table.transact(number, records, partial(work, end=end)))

    return table


def _place_of(row: bytes) -> tuple[str, int]:
    found = decode(row, DetectionPlace).assignment
    return found.story.edition, found.position
