"""The cluster agent: `fingerprints` to `assignments` and `clusters`, on the table `clustering`."""

from typing import Any

import faust

from agents.batches import batches
from agents.dead_letters import bury
from agents.metrics import RECORDS
from agents.outbox import Outbox
from agents.tables import clustering
from pipeline.config import Settings
from pipeline.records import Fingerprint, InvalidRecord, decode, encode
from pipeline.stages.cluster import cluster

STAGE = "cluster"


def declare(app: faust.App, settings: Settings) -> None:
    """Add the agent and its table to the app."""
    assignments, clusters = settings.topic("assignments"), settings.topic("clusters")
    table = clustering(app, settings)

    @app.agent(app.topic(settings.topic("fingerprints"), **app.raw), name=STAGE)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        outbox = Outbox(app)
        async for events in batches(app, stream):
            for event in events:
                message, partition = event.message, event.message.partition
                try:
                    record = decode(message.value, Fingerprint)
                except InvalidRecord as error:
                    await bury(outbox, STAGE, message, error)
                    continue
                outcome = cluster(table.edition(partition, record.story.edition), record, message.offset)
                if outcome is None:
                    RECORDS.labels(STAGE, "repeated").inc()
                    continue
                row = outcome.assignment
                await table.put(outbox, partition, row.story.id, row)
                await outbox.send(assignments, row.story.id.encode(), encode(row), partition)
                for state in outcome.clusters:
                    await outbox.send(clusters, state.id.encode(), encode(state), partition)
                table.drop(partition, outcome.dropped)
                RECORDS.labels(STAGE, "late" if row.late else "done").inc()
            await table.settle(outbox, clusters)
