"""The promise: what is in Postgres and on the topics equals the pure replay of the log, row for row.

The log is the topic `fingerprints`; that all stories are on it is part of the promise.
"""

from collections import Counter
from dataclasses import dataclass, field

import sqlalchemy as sa

from agents.transport.batches import by_partition
from pipeline.codec import decode
from pipeline.kafka.decode import decode_amendment, decode_tick
from pipeline.records import AMENDMENT, TICK, Amended, Assignment, Cluster, EventUpdate, Fingerprint, StreamTime
from pipeline.replay import AmendmentStep, Step, replay_log
from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import migrate
from pipeline.storage.write import Writer
from tests.integration.helpers import read
from tests.storage.dump import differing_tables

STORED_AT_ONCE = 5_000
"""Records that are written to the other database in a transaction."""


@dataclass
class Verdict:
    """How far the promise was kept."""

    stories: int = 0
    revisions: int = 0
    ticks: int = 0
    amendments: int = 0
    refused: int = 0
    """of these"""
    events: int = 0
    lost: int = 0
    """sent stories, and records of the replay, that are missing"""
    twice: int = 0
    """records that are there again"""
    differing: list[str] = field(default_factory=list)
    """where something else is found than the replay gives"""

    @property
    def kept(self):
        """Whether it was kept."""
        return not (self.lost or self.twice or self.differing)


def replayed(settings):
    """The pure replay of what is on the fingerprints topic, partition by partition: yields (partition, step)."""
    for partition, records in by_partition(read(settings, "fingerprints")).items():
        log = ((record.offset, _logged(record)) for record in records)
        for step in replay_log(log, settings.cluster_rule(), settings.detect_rules()):
            yield partition, step


def judge(settings, other_database, sent=()):
    """Compare all that came out with the replay; `sent` are the ids of stories that the broker took in.

    Holds what is on the topics as bytes, and of the replay only its last step.
    """
    verdict, new, states, expected_updates = Verdict(), set(), {}, []
    rows = {partition: iter(records) for partition, records in by_partition(read(settings, "assignments")).items()}
    there, wanted, alike = Counter(), Counter(), True
    migrate(other_database)
    writer = Writer(other_database)
    to_store = []
    for partition, step in replayed(settings):
        expected = _expected(step)
        row = next(rows.get(partition, iter(())), None)
        found = None if row is None else _decoded(row)
        alike &= found == expected
        there.update([] if found is None else [_name(partition, found)])
        wanted[_name(partition, expected)] += 1
        if isinstance(step, Step):
            verdict.revisions += expected.revision
            new.update([] if expected.revision else [expected.story.id])
            states |= {(partition, state.id): state for state in step.clusters}
            to_store += [expected, *step.clusters]
        elif isinstance(step, AmendmentStep):
            verdict.amendments += 1
            verdict.refused += expected.refused is not None
            states |= {(partition, state.id): state for state in step.clusters}
            to_store += [expected, *step.clusters]
        else:
            verdict.ticks += 1
        expected_updates += [(partition, update) for update in step.updates]
        to_store += step.updates
        if len(to_store) >= STORED_AT_ONCE:
            writer.write(to_store)
            to_store.clear()
    writer.write(to_store)
    writer.close()
    there.update(_name(partition, _decoded(row)) for partition, left in rows.items() for row in left)
    _count(verdict, there, wanted)
    if not alike or there != wanted:
        verdict.differing.append("topic assignments")
    verdict.stories = len(new)
    verdict.lost += len(set(sent) - new)

    updates = [(record.partition, decode(record.value, EventUpdate)) for record in read(settings, "events")]
    _compare(verdict, "events", updates, expected_updates, lambda update: (update.event_id, update.sequence))
    verdict.events = sum(update.sequence == 1 for _, update in updates)
    latest = {(record.partition, record.key.decode()): record.value for record in read(settings, "clusters")}
    living = {key: decode(value, Cluster) for key, value in latest.items() if value}
    if living != {key: state for key, state in states.items() if latest.get(key, b"missing")}:
        verdict.differing.append("topic clusters")
    verdict.differing += [f"table {name}" for name in differing_tables(settings.postgres, other_database)]
    verdict.differing += [f"counts of event {event_id}" for event_id in events_that_disagree(settings.postgres)]
    return verdict


def events_that_disagree(uri):
    """The events whose number of stories is not that of their rows, of their report and of their last update."""
    engine = create_engine(uri)
    with engine.connect() as connection:
        found = connection.scalars(
            sa.text(
                "SELECT e.id FROM news.events e JOIN news.event_updates u ON u.event_id = e.id AND u.sequence = e.sequence "
                "WHERE e.stories_total <> ALL (ARRAY["
                "(SELECT count(*) FROM news.event_stories m WHERE m.event_id = e.id), "
                "(SELECT count(*) FROM news.report_event(e.id)), u.stories_total]) ORDER BY e.id"
            )
        ).all()
    engine.dispose()
    return found


def _logged(record):
    """What a record of `fingerprints` is."""
    if TICK in record.headers:
        return decode_tick(record)
    return decode_amendment(record) if AMENDMENT in record.headers else decode(record.value, Fingerprint)


def _expected(step):
    """What a step brings on `assignments`."""
    if isinstance(step, Step):
        return step.assignment
    return step.amended if isinstance(step, AmendmentStep) else step.passed


def _decoded(row):
    """An assignment, the stream time that a tick brought, or what an amendment changed."""
    kind = StreamTime if TICK in row.headers else Amended if AMENDMENT in row.headers else Assignment
    return decode(row.value, kind)


def _name(partition, record):
    """What a record of `assignments` is known by."""
    if isinstance(record, Amended):
        return partition, "Amended", record.amendment.id, record.position
    of = record.edition if isinstance(record, StreamTime) else record.story.id
    return partition, type(record).__name__, of, record.position


def _compare(verdict, topic, found, expected, key):
    """Compare (partition, record) with what there should be, in each partition in order."""
    _count(verdict, *(Counter((partition, key(record)) for partition, record in side) for side in (found, expected)))
    if _by_partition(found) != _by_partition(expected):
        verdict.differing.append(f"topic {topic}")


def _count(verdict, there, wanted):
    verdict.twice += (there - wanted).total()
    verdict.lost += (wanted - there).total()


def _by_partition(records):
    found = {}
    for partition, record in records:
        found.setdefault(partition, []).append(record)
    return found


def other_database(settings):
    """A database for the replay, beside the workers'."""
    engine = create_engine(settings.postgres).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text("DROP DATABASE IF EXISTS replayed"))
        connection.execute(sa.text("CREATE DATABASE replayed"))
    engine.dispose()
    return sa.make_url(settings.postgres).set(database="replayed").render_as_string(hide_password=False)
