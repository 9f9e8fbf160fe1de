"""The cluster agent: `fingerprints` to `assignments` and `clusters`, on the table `clustering`."""

from collections import Counter
from typing import Any

import faust

from agents.batches import Raw, batches
from agents.dead_letters import bury
from agents.metrics import count
from agents.outbox import Message, Outbox
from agents.tables import clustering_table
from pipeline.config import Settings
from pipeline.records import Cluster, Fingerprint, InvalidRecord, decode, encode
from pipeline.stages.cluster import cluster

STAGE = "cluster"


def declare(app: faust.App, settings: Settings) -> None:
    """Add the agent and its table to the app."""
    assignments, clusters = settings.topic("assignments"), settings.topic("clusters")
    table = clustering_table(app, settings)

    @app.agent(app.topic(settings.topic("fingerprints"), schema=Raw()), name=STAGE)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        outbox = Outbox(app)
        async for messages in batches(app, stream, load=table.load):
            outcomes: Counter[str] = Counter()
            latest: dict[tuple[int, str], Cluster] = {}  # a cluster that grew in this batch is told of once
            for message in messages:
                partition = message.partition
                try:
                    record = decode(message.value, Fingerprint)
                except InvalidRecord as error:
                    bury(outbox, STAGE, message, error)
                    continue
                outcome = cluster(table.edition(partition, record.story.edition), record, message.offset)
                if outcome is None:
                    outcomes["repeated"] += 1
                    continue
                story, row = outcome.assignment.story, encode(outcome.assignment)
                table.put(outbox, partition, story.id, row)
                outbox.add(Message(assignments, story.id.encode(), row, partition))
                latest |= {(partition, state.id): state for state in outcome.clusters}
                table.drop(partition, outcome.dropped)
                outcomes["late" if outcome.assignment.late else "done"] += 1
            for (partition, cluster_id), state in latest.items():
                outbox.add(Message(clusters, cluster_id.encode(), encode(state), partition))
            await table.settle(outbox, clusters)
            count(STAGE, outcomes)
