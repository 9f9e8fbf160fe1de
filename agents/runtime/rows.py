"""Rows: what a stage with state writes to its changelog, and the state that is built from what is there."""

import gc
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from agents.runtime.producer import Message, Messages
from pipeline.codec import decode
from pipeline.config import Settings
from pipeline.kafka.changelogs import AMENDED, REVISION, RULE, TIME, Rows
from pipeline.kafka.topics import changelog
from pipeline.kafka.upgrade import HEADER, VERSION
from pipeline.records import Amended, Record, StreamTime
from pipeline.stages.lifetimes import Expired

WRITTEN_BY = ((HEADER, str(VERSION).encode()),)

R = TypeVar("R", bound=Record)
A = TypeVar("A", bound=Record)
E = TypeVar("E")


class Changelog:
    """Makes the messages that write a stage's rows to a partition of its changelog."""

    def __init__(self, settings: Settings, name: str) -> None:
        self.name = name
        self.topic = changelog(settings, name)
        self._settings = settings

    def row(self, partition: int, story_id: str, row: bytes | None, *, revision: bool = False) -> Message:
        """The message that writes the encoded row of a story, or of its latest revision, or deletes it."""
        key = story_id.encode()
        return Message(self.topic, REVISION + key if revision else key, row, partition, WRITTEN_BY)

    def rule(self, partition: int) -> Message:
        """The message that says by which rule the rows of a partition are made."""
        return Message(self.topic, RULE, msgspec.json.encode(self._settings.rule()), partition, WRITTEN_BY)

    def time(self, partition: int, edition: str, row: bytes) -> Message:
        """The message that writes the stream time of an edition."""
        return Message(self.topic, TIME + edition.encode(), row, partition, WRITTEN_BY)

    def amendment(self, partition: int, amendment_id: str, row: bytes | None) -> Message:
        """The message that writes what an amendment changed, or deletes it."""
        return Message(self.topic, AMENDED + amendment_id.encode(), row, partition, WRITTEN_BY)

    def delete(self, partition: int, expired: Expired) -> Messages:
        """The messages that delete the rows of what has expired."""
        if not expired.rows:
            return []
        return [
            *(self.row(partition, story_id, None) for story_id in expired.rows),
            *(self.row(partition, story_id, None, revision=True) for story_id in expired.revised),
            *(self.amendment(partition, amendment_id, None) for amendment_id in expired.amendments),
        ]


class StateOf(NamedTuple, Generic[R, A, E]):
    """How the state of a stage's editions is built from its rows."""

    row: type[R]
    """what the row of a story is"""
    amended: type[A]
    """what the row of an amendment is"""
    amended_of: Callable[[A], Amended]
    """says what an amendment changed of its row"""
    place: Callable[[bytes], tuple[str, int]]
    """says of an encoded row to which edition it belongs, and its position"""
    new: Callable[[str], E]
    """the empty state of an edition"""
    restore: Callable[[E, Iterator[R | A | StreamTime]], None]
    """takes rows into a state, in the order of their positions"""
    follow: Callable[[E, Sequence[R | A | StreamTime]], None]
    """takes in the rows that the owner of a state writes, as they come"""


def build(state_of: StateOf[R, A, E], rows: Rows) -> tuple[dict[str, E], int]:
    """The states of the editions that these rows make, and the largest of their positions. The rows are used up."""
    gc.disable()  # rows are no garbage: to look for it among them, again and again as they come, takes a third of the time
    try:
        return _build(state_of, rows)
    finally:
        gc.freeze()
        gc.enable()


def _build(state_of: StateOf[R, A, E], rows: Rows) -> tuple[dict[str, E], int]:
    found: dict[str, list[tuple[int, bytes | A | StreamTime]]] = {}
    for row in rows.stories.values():
        edition, position = state_of.place(row)
        found.setdefault(edition, []).append((position, row))
    rows.stories.clear()
    for row in rows.times.values():
        time = decode(row, StreamTime)
        found.setdefault(time.edition, []).append((time.position, time))
    for row in rows.amendments.values():
        amendment = decode(row, state_of.amended)
        amended = state_of.amended_of(amendment)
        found.setdefault(amended.amendment.edition, []).append((amended.position, amendment))
    newest = max((position for placed in found.values() for position, _ in placed), default=-1)
    states = {edition: state_of.new(edition) for edition in found}
    for edition, state in states.items():
        state_of.restore(state, _decoded(state_of.row, found.pop(edition)))
    return states, newest


def _decoded(kind: type[R], rows: list[tuple[int, Any]]) -> Iterator[Any]:
    """The rows by position, decoded one by one: the bytes go as the records come."""
    rows.sort(key=itemgetter(0), reverse=True)
    while rows:
        _, row = rows.pop()
        if isinstance(row, bytes):
            yield decode(row, kind)
        else:
            yield row
