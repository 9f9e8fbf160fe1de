"""The cluster agent: `fingerprints` to `assignments` and `clusters`; its state is on the changelog `clustering`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import faust
from aiokafka.structs import ConsumerRecord

from agents.runtime.log_end import LogEnd
from agents.runtime.metrics import CANDIDATES, count, timed
from agents.runtime.producer import Message, Messages
from agents.runtime.rows import Changelog, StateOf
from agents.runtime.spans import traced
from agents.runtime.state import Partition, StateStore
from agents.runtime.transaction import transact
from agents.transport.batches import Raw, batches, by_partition
from pipeline.codec import InvalidRecord, decode, encode
from pipeline.config import Settings
from pipeline.kafka.decode import decode_amendment, decode_record, decode_tick
from pipeline.languages.background import background
from pipeline.languages.codes import language_of
from pipeline.records import AMENDMENT, TICK, Amended, Assignment, Cluster, Fingerprint, Place
from pipeline.stages.amend import check as check_amendment
from pipeline.stages.cluster.amend import amend
from pipeline.stages.cluster.restore import follow, restore
from pipeline.stages.cluster.stage import check, cluster, tick_clusters
from pipeline.stages.cluster.state import ClusterState
from pipeline.stages.lifetimes import Expired
from pipeline.times import from_millis

STAGE = "cluster"


def declare(app: faust.App, settings: Settings, log_end: LogEnd) -> StateStore[Assignment, ClusterState]:
    """Add the agent to the app; returns the store of its state."""
    assignments, clusters = settings.topic("assignments"), settings.topic("clusters")
    rule, weights = settings.cluster_rule(), settings.score_weights()
    changelog = Changelog(settings, "clustering")
    state_of = StateOf(
        Assignment,
        Amended,
        lambda row: row,
        _place,
        lambda edition: ClusterState(background(language_of(edition)), rule, weights),
        restore,
        follow,
    )
    store = StateStore(app, settings, STAGE, changelog, "fingerprints", state_of, log_end)

    @contextmanager
    def work(partition: Partition[ClusterState], messages: Messages) -> Iterator[Callable[[ConsumerRecord], str]]:
        batch = _Batch(partition, changelog, assignments, clusters, messages)
        yield batch.work_on
        batch.end()

    @app.agent(app.topic(settings.topic("fingerprints"), schema=Raw()), name=STAGE)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        async for batch in batches(app, stream):
            for number, records in by_partition(batch).items():
                with timed(STAGE), traced(app.traces, STAGE) as spans:
                    outcomes = await transact(store, number, records, work, spans)
                count(STAGE, outcomes)

    return store


@dataclass(frozen=True, slots=True)
class _Batch:
    """Works on a batch of a partition's records."""

    partition: Partition[ClusterState]
    changelog: Changelog
    assignments: str
    clusters: str
    messages: Messages
    latest: dict[str, Cluster] = field(default_factory=dict)
    """of a cluster that changed more than once in this batch, one message is sent"""

    def work_on(self, record: ConsumerRecord) -> str:
        """Work on a record; returns what became of it."""
        if TICK in record.headers:
            return self._tick(record)
        return self._amend(record) if AMENDMENT in record.headers else self._story(record)

    def end(self) -> None:
        """Send what waited for the end of the batch."""
        self.messages.extend(map(self._message, self.latest.values()))

    def _tick(self, record: ConsumerRecord) -> str:
        at = decode_tick(record)
        state = self.partition.states.get(at.edition)
        passed = state and tick_clusters(state, at, record.offset)
        if not passed:
            return "repeated"
        self._delete(passed.expired)
        row, number = encode(passed.stream_time), self.partition.number
        self.messages.append(self.changelog.time(number, at.edition, row))
        self.messages.append(Message(self.assignments, at.edition.encode(), row, number, [TICK]))
        return "ticks"

    def _amend(self, record: ConsumerRecord) -> str:
        amendment, number = decode_amendment(record), self.partition.number
        check_amendment(amendment)
        edition = amendment.edition
        state = self.partition.states.get(edition)
        if not state or not state.clusters:
            raise InvalidRecord(f"Wrong Amendment: edition: no story of {edition!r} is within the look-back.")
        outcome = amend(state, amendment, record.offset)
        if outcome is None:
            return "repeated"
        amended, row = outcome.amended, encode(outcome.row)
        self.messages.append(
            self.changelog.time(number, edition, row)
            if amended.refused
            else self.changelog.amendment(number, amendment.id, row)
        )
        self.messages.append(Message(self.assignments, edition.encode(), encode(amended), number, [AMENDMENT]))
        self.latest.update((cluster.id, cluster) for cluster in outcome.clusters)
        return "refused" if amended.refused else "amended"

    def _story(self, record: ConsumerRecord) -> str:
        fingerprint, number = decode_record(record, Fingerprint), self.partition.number
        check(fingerprint, from_millis(record.timestamp))
        outcome = cluster(self.partition.state(fingerprint.story.edition), fingerprint, record.offset)
        if outcome is None:
            return "repeated"
        self._delete(outcome.expired)
        assignment = outcome.assignment
        if not assignment.revision:
            CANDIDATES.observe(outcome.candidates)
        story_id, row = assignment.story.id, encode(assignment)
        self.messages.append(self.changelog.row(number, story_id, row, revision=assignment.revision))
        self.messages.append(Message(self.assignments, story_id.encode(), row, number))
        self.latest.update((cluster.id, cluster) for cluster in outcome.clusters)
        return "revised" if assignment.revision else "late" if assignment.late else "done"

    def _delete(self, expired: Expired) -> None:
        number = self.partition.number
        self.messages.extend(self.changelog.delete(number, expired))
        for cluster_id in expired.clusters:
            if cluster_id in self.latest:
                self.messages.append(self._message(self.latest.pop(cluster_id)))
            self.messages.append(Message(self.clusters, cluster_id.encode(), None, number))

    def _message(self, cluster: Cluster) -> Message:
        return Message(self.clusters, cluster.id.encode(), encode(cluster), self.partition.number)


def _place(row: bytes) -> tuple[str, int]:
    found = decode(row, Place)
    return found.story.edition, found.position
