r"""The changelogs of the stages with state: what their rows are keyed by, how they are read, and which rule they were made by.

    key                     row
    ID                      a story's row
    \xff ID                 the row of its latest revision
    \xfe EDITION            the stream time that a tick brought
    \xfc ID                 what an amendment changed
    \xfd                    the rule that all of these were made by

In UTF-8 no id begins with these bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import structlog
from aiokafka import AIOKafkaProducer, TopicPartition

from pipeline.config import RULES_OF, Settings
from pipeline.kafka.admin import admin, partitions
from pipeline.kafka.connection import connection
from pipeline.kafka.consumer import UnreadableRecord, consuming
from pipeline.kafka.read import read_to_end
from pipeline.kafka.topics import CHANGELOGS, LARGEST_MESSAGE, changelog
from pipeline.kafka.upgrade import HEADER, VERSION, upgraded

log = structlog.get_logger()

LOG = "fingerprints"
"""The topic whose offsets are the positions of all rows."""
REVISION, TIME, RULE, AMENDED = b"\xff", b"\xfe", b"\xfd", b"\xfc"


class StateError(RuntimeError):
    """The rows of a changelog do not go with this worker; the message says why, and which command mends it."""


class OtherRule(StateError):
    """The rows were made by another rule."""


class AheadOfLog(StateError):
    """The rows are of records that the log does not have."""


@dataclass(slots=True)
class Rows:
    """What a partition of a changelog holds."""

    stories: dict[bytes, bytes] = field(default_factory=dict)
    """rows of stories and of their revisions, by key"""
    times: dict[bytes, bytes] = field(default_factory=dict)
    """rows of stream times, by key"""
    amendments: dict[bytes, bytes] = field(default_factory=dict)
    """rows of amendments, by key"""
    rule: dict[str, str] | None = None
    """the rule they were made by; None if there are none yet"""
    end: int = 0
    """the offset behind them"""
    transaction_open: bool = False
    """whether a transaction had begun behind them and not ended"""


async def read_rows(settings: Settings, name: str, partition: int) -> Rows:
    """The rows of a partition of a changelog, in the shape that this code writes."""
    of, rows = TopicPartition(changelog(settings, name), partition), Rows()
    async with consuming(settings, max_partition_fetch_bytes=int(LARGEST_MESSAGE)) as consumer:
        consumer.assign([of])
        await consumer.seek_to_beginning(of)
        end = (await consumer.end_offsets([of]))[of]
        async for record in read_to_end(consumer, {of: end}):
            _take(rows, name, record)
        rows.end = end
        rows.transaction_open = (consumer.highwater(of) or 0) > end
    return rows


class Written(NamedTuple):
    """What a record of a changelog writes."""

    kind: bytes
    """RULE, TIME or AMENDED; else it is the row of a story or of its latest revision"""
    key: bytes
    row: bytes | None
    """in the shape that this code writes; None: it is deleted"""


def written(name: str, record: Any) -> Written | None:
    """What a record writes to the changelog of this name; None, with an error in the log, if it cannot be read."""
    if isinstance(record, UnreadableRecord) or record.key is None:
        log.error(
            "a row cannot be read and is left out", topic=record.topic, partition=record.partition, offset=record.offset
        )
        return None
    version = next((int(value) for header, value in record.headers if header == HEADER), 1)
    rule = record.key == RULE
    row = record.value if rule or record.value is None else upgraded(name, record.value, version)
    return Written(RULE if rule else record.key[:1], record.key, row)


def rule_of(row: bytes | None) -> dict[str, str] | None:
    """The rule that a row says."""
    return None if row is None else msgspec.json.decode(row, type=dict[str, str])


def _take(rows: Rows, name: str, record: Any) -> None:
    found = written(name, record)
    if found is None:
        return
    if found.kind == RULE:
        rows.rule = rule_of(found.row)
        return
    kept = {TIME: rows.times, AMENDED: rows.amendments}.get(found.kind, rows.stories)
    if found.row is None:
        kept.pop(found.key, None)
    else:
        kept[found.key] = found.row


def check_rule(found: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Raises OtherRule if rows were made by another rule than ours."""
    if other := differences(found, ours):
        differ = ", ".join(f"{name}={mine} (the state has {theirs})" for name, theirs, mine in other)
        raise OtherRule(
            f"This worker's rule is not the one that the state was made by: {differ}. Set it as the state has it; or stop all "
            "workers and run `newsburst state adopt` with the new settings, which says what that changes."
        )


def differences(found: Mapping[str, str], ours: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The settings in which the rule of rows and ours differ: name, theirs, ours. What older rows do not say is as ours.

    The rules of an edition are said only where there are any.
    """
    by_edition = [name for name in {**found, **ours} if found and name.startswith(RULES_OF)]
    names = [name for name in ours if name in found and name not in by_edition]
    pairs = [(name, found.get(name, NO_RULES), ours.get(name, NO_RULES)) for name in [*names, *by_edition]]
    return [pair for pair in pairs if pair[1] != pair[2]]


def check_log(name: str, partition: int, position: int, end: int) -> None:
    """Raises AheadOfLog if the newest row is of a `position` that its log, which ends at `end`, does not have."""
    if position >= end:
        raise AheadOfLog(
            f"The changelog {name} holds a row of offset {position} of partition {partition} of `fingerprints`, which ends at "
            f"{end}. That topic was deleted and made again, or restored from a copy; all that comes would be taken for known. "
            "Restore it; or stop all workers and run `newsburst state reset`, which lets the clustering begin anew."
        )


NO_RULES = "as for all others"
"""What is said of an edition without rules of its own."""
RULE_EVERY = 100
"""Offsets of a changelog after which it says its rule again, so that a glance at its end finds it."""
GLANCED_OFFSETS = 2 * RULE_EVERY
"""Offsets at both ends of a changelog that are looked into."""


class Glance(NamedTuple):
    """What the ends of a partition of a changelog tell: it need not be all."""

    name: str
    partition: int
    rule: dict[str, str] | None
    position: int
    """about the largest position of a row"""
    end: int
    """where the log ends that positions count in"""


async def glance(settings: Settings) -> list[Glance]:
    """Look into all partitions of both changelogs, without reading them. Raises BrokerError and KafkaError."""
    places = [
        (Glance(name, number, None, -1, 0), TopicPartition(changelog(settings, name), number))
        for name, number in await _places(settings)
    ]
    found: list[Glance] = []
    async with consuming(settings) as consumer:
        ends = await consumer.end_offsets([of for _, of in places])
        begins = await consumer.beginning_offsets([of for _, of in places])
        held = [of for _, of in places if begins[of] < ends[of]]
        if held:  # at once: a consumer that is assigned anew again and again may never stop
            consumer.assign(held)
        for glanced, of in places:
            rule, positions = None, dict[bytes, int]()
            for start in sorted({begins[of], max(begins[of], ends[of] - GLANCED_OFFSETS)}) if of in held else ():
                positions.clear()  # what the first rows say may have been deleted since, by records between the two looks
                consumer.seek(of, start)
                async for record in read_to_end(consumer, {of: min(start + GLANCED_OFFSETS, ends[of])}):
                    if record.key == RULE and record.value is not None:
                        rule = msgspec.json.decode(record.value, type=dict[str, str])
                    positions[record.key] = _position(record.value)
            found.append(glanced._replace(rule=rule, position=max(positions.values(), default=-1)))
        # Last: workers may write meanwhile, and what a row is of was on the log before.
        logs = [TopicPartition(settings.topic(LOG), of.partition) for _, of in places]
        log_ends = await consumer.end_offsets(list(set(logs)))
        return [glanced._replace(end=log_ends[log]) for glanced, log in zip(found, logs, strict=True)]


async def wrong_state(settings: Settings) -> list[str]:
    """What a glance finds wrong with the state, one sentence each. Raises BrokerError and KafkaError."""
    wrong = []
    for found in await glance(settings):
        try:
            check_rule(found.rule or {}, settings.rule())
            check_log(found.name, found.partition, found.position, found.end)
        except StateError as error:
            wrong.append(str(error))
    return list(dict.fromkeys(wrong))


class _Placed(msgspec.Struct):
    position: int = -1
    assignment: "_Placed | None" = None
    amended: "_Placed | None" = None


def _position(row: bytes | None) -> int:
    try:
        placed = msgspec.json.decode(row or b"{}", type=_Placed)
    except msgspec.DecodeError:
        return -1
    return (placed.assignment or placed.amended or placed).position


async def rules(settings: Settings) -> list[dict[str, str]]:
    """The rules that the partitions of both changelogs were made by, of those that say so. Raises BrokerError."""
    found = [await read_rows(settings, name, number) for name, number in await _places(settings)]
    return [rows.rule for rows in found if rows.rule is not None]


async def adopt(settings: Settings) -> None:
    """Have the rows count as made by the rule of the settings. Workers that run are shut out. Raises BrokerError."""
    for name, number in await _places(settings):
        await _write(settings, name, number, {RULE: msgspec.json.encode(settings.rule())})


async def forget(settings: Settings) -> int:
    """Delete all rows; returns how many there were. Workers that run are shut out. Raises BrokerError."""
    count = 0
    for name, number in await _places(settings):
        rows = await read_rows(settings, name, number)
        keys = [*rows.stories, *rows.times, *rows.amendments]
        await _write(settings, name, number, {RULE: msgspec.json.encode(settings.rule()), **dict.fromkeys(keys)})
        count += len(keys)
    return count


async def _places(settings: Settings) -> list[tuple[str, int]]:
    """The changelogs with their partitions."""
    async with admin(settings) as client:
        return [
            (name, of.partition)
            for name in CHANGELOGS
            for of in sorted(await partitions(client, [changelog(settings, name)]))
        ]


async def _write(settings: Settings, name: str, number: int, rows: Mapping[bytes, bytes | None]) -> None:
    """Write rows in the name of the partition's owner, all or nothing."""
    topic = changelog(settings, name)
    producer = AIOKafkaProducer(**connection(settings), transactional_id=f"{topic}-{number}")
    try:
        await producer.start()
        async with producer.transaction():
            for key, value in rows.items():
                await producer.send(topic, value, key, partition=number, headers=[(HEADER, str(VERSION).encode())])
    finally:
        await producer.stop()
