"""The cluster agent: `fingerprints` to `assignments` and `clusters`, on the table `clustering`."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import faust
from aiokafka.structs import ConsumerRecord

from agents.batches import Raw, batches, by_partition
from agents.dead_letters import letter
from agents.metrics import count
from agents.outbox import Message, Outbox
from agents.tables import Partition, StageTable
from pipeline.config import Settings
from pipeline.languages.background import background
from pipeline.records import KIND, Assignment, Cluster, Fingerprint, InvalidRecord, Place, decode, encode
from pipeline.stages.cluster import check, cluster, tick
from pipeline.stages.clustering import Edition, restore
from pipeline.stages.lifetimes import Dropped
from pipeline.times import from_millis
from pipeline.unreadable import read, read_tick

STAGE = "cluster"


def declare(app: faust.App, settings: Settings) -> StageTable[Assignment, Edition]:
    """Add the agent to the app; returns its table."""
    assignments, clusters = settings.topic("assignments"), settings.topic("clusters")
    rule, weights = settings.cluster_rule(), settings.score_weights()
    table = StageTable(
        app,
        settings,
        STAGE,
        "clustering",
        "fingerprints",
        Assignment,
        _place_of,
        lambda name: Edition(background(name), rule, weights),
        restore,
    )

    def say(state: Cluster, number: int) -> Message:
        return Message(clusters, state.id.encode(), encode(state), number)

    def pass_time(
        partition: Partition[Edition], record: ConsumerRecord, outbox: Outbox, latest: dict[str, Cluster]
    ) -> bool:
        at, number = read_tick(record), partition.number
        edition = partition.editions.get(at.edition)
        passed = edition and tick(edition, at, record.offset)
        if not passed:
            return False
        drop(number, passed.dropped, outbox, latest)
        row, key = encode(passed.stream_time), at.edition.encode()
        outbox.append(table.time(number, at.edition, row))
        outbox.append(Message(assignments, key, row, number, [KIND]))
        return True

    def drop(number: int, dropped: Dropped, outbox: Outbox, latest: dict[str, Cluster]) -> None:
        outbox += table.drop(number, dropped)
        for cluster_id in dropped.clusters:
            if cluster_id in latest:
                outbox.append(say(latest.pop(cluster_id), number))
            outbox.append(Message(clusters, cluster_id.encode(), None, number))

    def work(partition: Partition[Edition], records: Iterator[ConsumerRecord], outbox: Outbox) -> Counter[str]:
        number, outcomes = partition.number, Counter[str]()
        latest: dict[str, Cluster] = {}  # a cluster that grew in this batch is told of once
        for record in records:
            try:
                if KIND in record.headers:
                    outcomes["ticks" if pass_time(partition, record, outbox, latest) else "repeated"] += 1
                    continue
                fingerprint = read(record, Fingerprint)
                check(fingerprint, from_millis(record.timestamp))
            except InvalidRecord as error:
                outbox.append(letter(STAGE, record, error))
                outcomes["dead"] += 1
                continue
            outcome = cluster(partition.edition(fingerprint.story.edition), fingerprint, record.offset)
            if outcome is None:
                outcomes["repeated"] += 1
                continue
            story, row = outcome.assignment.story, encode(outcome.assignment)
            drop(number, outcome.dropped, outbox, latest)
            outbox.append(table.row(number, story.id, row, revision=outcome.assignment.revision))
            outbox.append(Message(assignments, story.id.encode(), row, number))
            latest |= {state.id: state for state in outcome.clusters}
            outcomes["revised" if outcome.assignment.revision else "late" if outcome.assignment.late else "done"] += 1
        outbox += (say(state, number) for state in latest.values())
        return outcomes

    @app.agent(app.topic(settings.topic("fingerprints"), schema=Raw()), name=STAGE)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        async for batch in batches(app, stream):
            for number, records in by_partition(batch).items():
                count(STAGE, await table.transact(number, records, work))

    return table


def _place_of(row: bytes) -> tuple[str, int]:
    found = decode(row, Place)
    return found.story.edition, found.position
