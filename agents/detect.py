"""The detect agent: `assignments` to `events`, on the table `detection`."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import faust

from agents.batches import Raw, batches
from agents.dead_letters import bury
from agents.metrics import UPDATE_SECONDS, count
from agents.outbox import Message, Outbox
from agents.tables import detection_table
from pipeline.config import Settings
from pipeline.records import Assignment, InvalidRecord, decode, encode
from pipeline.stages.detect import detect

STAGE = "detect"


def declare(app: faust.App, settings: Settings) -> None:
    """Add the agent and its table to the app."""
    topic = settings.topic("events")
    table = detection_table(app, settings)

    @app.agent(app.topic(settings.topic("assignments"), schema=Raw()), name=STAGE)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        outbox = Outbox(app)
        async for messages in batches(app, stream, load=table.load):
            outcomes: Counter[str] = Counter()
            for message in messages:
                partition = message.partition
                try:
                    assignment = decode(message.value, Assignment)
                except InvalidRecord as error:
                    bury(outbox, STAGE, message, error)
                    continue
                outcome = detect(table.edition(partition, assignment.story.edition), assignment)
                if outcome is None:
                    outcomes["repeated"] += 1
                    continue
                table.put(outbox, partition, assignment.story.id, encode(outcome.row))
                for update in outcome.row.updates:
                    outbox.add(Message(topic, update.event_id.encode(), encode(update), partition))
                    UPDATE_SECONDS.observe((datetime.now(UTC) - update.caused_by_received_at).total_seconds())
                table.drop(partition, outcome.dropped)
                outcomes["done"] += 1
            await table.settle(outbox)
            count(STAGE, outcomes)
