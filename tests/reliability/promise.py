"""The promise: what is in Postgres and on the topics equals the pure replay of the log, row for row.

The log is the topic `fingerprints`; that all stories are on it is part of the promise.
"""

from collections import Counter
from dataclasses import dataclass, field
from operator import itemgetter

import sqlalchemy as sa

from pipeline.records import KIND, Assignment, Cluster, EventUpdate, Fingerprint, StreamTime, decode
from pipeline.replay import Step, replay_log
from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import migrate
from pipeline.storage.write import Writer
from pipeline.unreadable import read_tick
from tests.integration.helpers import read
from tests.storage.dump import dump


@dataclass
class Verdict:
    """How far the promise was kept."""

    stories: int = 0
    revisions: int = 0
    ticks: int = 0
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
    """The pure replay of what is on the fingerprints topic, partition by partition, as (partition, step)."""
    by_partition = {}
    for record in read(settings, "fingerprints"):
        item = read_tick(record) if KIND in record.headers else decode(record.value, Fingerprint)
        by_partition.setdefault(record.partition, []).append((record.offset, item))
    return [
        (partition, step)
        for partition, log in sorted(by_partition.items())
        for step in replay_log(sorted(log, key=itemgetter(0)), settings.cluster_rule(), settings.detect_rule())
    ]


def judge(settings, other_database, sent=()):
    """Compare all that came out with the replay; `sent` are the ids of stories that the broker took in."""
    all_steps = replayed(settings)
    by_partition = [(partition, step) for partition, step in all_steps if isinstance(step, Step)]
    steps = [step for _, step in by_partition]
    new = {step.assignment.story.id for step in steps if not step.assignment.revision}
    verdict = Verdict(stories=len(new), revisions=sum(step.assignment.revision for step in steps))
    verdict.lost += len(set(sent) - new)

    rows = list(read(settings, "assignments"))
    times = [(row.partition, decode(row.value, StreamTime)) for row in rows if KIND in row.headers]
    expected = [(partition, step.passed) for partition, step in all_steps if not isinstance(step, Step)]
    verdict.ticks = len(expected)
    _compare(verdict, "assignments: times", times, expected, lambda row: (row.edition, row.position))
    assignments = [(row.partition, decode(row.value, Assignment)) for row in rows if KIND not in row.headers]
    expected = [(partition, step.assignment) for partition, step in by_partition]
    _compare(verdict, "assignments", assignments, expected, lambda row: (row.story.id, row.position))
    updates = [(record.partition, decode(record.value, EventUpdate)) for record in read(settings, "events")]
    expected = [(partition, update) for partition, step in all_steps for update in step.updates]
    _compare(verdict, "events", updates, expected, lambda update: (update.event_id, update.sequence))
    verdict.events = sum(update.sequence == 1 for _, update in updates)
    latest = {(record.partition, record.key.decode()): record.value for record in read(settings, "clusters")}
    states = {(partition, state.id): state for partition, step in by_partition for state in step.clusters}
    living = {key: decode(value, Cluster) for key, value in latest.items() if value}
    if living != {key: state for key, state in states.items() if latest.get(key, b"missing")}:
        verdict.differing.append("topic clusters")

    migrate(other_database)
    writer = Writer(other_database)
    steps = [step for _, step in all_steps]
    for start in range(0, len(steps), 5_000):
        writer.write([record for step in steps[start : start + 5_000] for record in _stored(step)])
    writer.close()
    ours, theirs = dump(settings.postgres), dump(other_database)
    verdict.differing += [f"table {name}" for name, rows in theirs.items() if rows != ours[name]]
    return verdict


def _stored(step):
    """What the store writes of a step."""
    return (step.assignment, *step.clusters, *step.updates) if isinstance(step, Step) else step.updates


def _compare(verdict, topic, found, expected, key):
    """Compare (partition, record) with what there should be, in each partition in order."""
    there, wanted = (Counter((partition, key(record)) for partition, record in side) for side in (found, expected))
    verdict.twice += (there - wanted).total()
    verdict.lost += (wanted - there).total()
    if _by_partition(found) != _by_partition(expected):
        verdict.differing.append(f"topic {topic}")


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
