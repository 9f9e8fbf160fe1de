"""The cluster agent: `fingerprints` to `assignments` and `clusters`; its state is on the changelog `clustering`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import faust
from aiokafka.structs import ConsumerRecord

from agents.runtime.log_end import LogEnd
from agents.runtime.metrics import count
from agents.runtime.producer import Message, Messages
from agents.runtime.rows import Changelog, StateOf
from agents.runtime.state import Partition, StateStore
from agents.runtime.transaction import transact
from agents.transport.batches import Raw, batches, by_partition
from pipeline.codec import decode, encode
from pipeline.config import Settings
from pipeline.kafka.decode import decode_record, decode_tick
from pipeline.languages.background import background
from pipeline.records import KIND, Assignment, Cluster, Fingerprint, Place
from pipeline.stages.cluster.stage import check, cluster, tick_clusters
from pipeline.stages.cluster.state import ClusterState, restore
from pipeline.stages.lifetimes import Expired
from pipeline.times import from_millis

STAGE = "cluster"


def declare(app: faust.App, settings: Settings, log_end: LogEnd) -> StateStore[Assignment, ClusterState]:
    """Add the agent to the app; returns the store of its state."""
    assignments, clusters = settings.topic("assignments"), settings.topic("clusters")
    rule, weights = settings.cluster_rule(), settings.score_weights()
    changelog = Changelog(settings, "clustering")
    state_of = StateOf(Assignment, _place, lambda edition: ClusterState(background(edition), rule, weights), restore)
    store = StateStore(app, settings, STAGE, changelog, "fingerprints", state_of, log_end)

    @contextmanager
    def work(partition: Partition[ClusterState], messages: Messages) -> Iterator[Callable[[ConsumerRecord], str]]:
        number = partition.number
        latest: dict[str, Cluster] = {}  # of a cluster that grew more than once in this batch, one message is sent

        def work_on(record: ConsumerRecord) -> str:
            return tick(record) if KIND in record.headers else story(record)

        def tick(record: ConsumerRecord) -> str:
            at = decode_tick(record)
            state = partition.states.get(at.edition)
            passed = state and tick_clusters(state, at, record.offset)
            if not passed:
                return "repeated"
            delete(passed.expired)
            row = encode(passed.stream_time)
            messages.append(changelog.time(number, at.edition, row))
            messages.append(Message(assignments, at.edition.encode(), row, number, [KIND]))
            return "ticks"

        def story(record: ConsumerRecord) -> str:
            fingerprint = decode_record(record, Fingerprint)
            check(fingerprint, from_millis(record.timestamp))
            outcome = cluster(partition.state(fingerprint.story.edition), fingerprint, record.offset)
            if outcome is None:
                return "repeated"
            delete(outcome.expired)
            assignment = outcome.assignment
            story_id, row = assignment.story.id, encode(assignment)
            messages.append(changelog.row(number, story_id, row, revision=assignment.revision))
            messages.append(Message(assignments, story_id.encode(), row, number))
            latest.update((cluster.id, cluster) for cluster in outcome.clusters)
            return "revised" if assignment.revision else "late" if assignment.late else "done"

        def delete(expired: Expired) -> None:
            messages.extend(changelog.delete(number, expired))
            for cluster_id in expired.clusters:
                if cluster_id in latest:
                    messages.append(message(latest.pop(cluster_id)))
                messages.append(Message(clusters, cluster_id.encode(), None, number))

        def message(cluster: Cluster) -> Message:
            return Message(clusters, cluster.id.encode(), encode(cluster), number)

        yield work_on
        messages.extend(map(message, latest.values()))

    @app.agent(app.topic(settings.topic("fingerprints"), schema=Raw()), name=STAGE)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        async for batch in batches(app, stream):
            for number, records in by_partition(batch).items():
                count(STAGE, await transact(store, number, records, work))

    return store


def _place(row: bytes) -> tuple[str, int]:
    found = decode(row, Place)
    return found.story.edition, found.position
