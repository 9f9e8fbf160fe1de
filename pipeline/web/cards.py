"""Cards of events as they change, for open pages: each is drawn once, however many pages show it.

The stream says that an event has changed; Postgres knows the rest. The store may be a little behind the stream, so a card waits
until its update is there.
"""

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import structlog

from pipeline.storage import browse
from pipeline.storage.engine import DatabaseError
from pipeline.storage.read import Row
from pipeline.web.hub import Told
from pipeline.web.source import Source

WAIT_S = 0.05
"""Between two looks into Postgres while an update is not there."""
PATIENCE_S = 5.0
"""How long a card waits; then the page shows what there is when it is loaded again."""
KEPT = 500

log = structlog.get_logger()


class Card(NamedTuple):
    """An event as a page shows it."""

    sequence: int
    message: str
    """what is sent to pages with its card"""
    notice: str
    """what is sent to its own page: that it has changed"""


def card_of(event_id: str, row: Row, html: str) -> Card:
    """The card of an event, as server-sent events."""
    data = {"id": event_id, "sequence": row["sequence"], "state": row["state"]}
    message, notice = (msgspec.json.encode({**data, "html": shown}).decode() for shown in (html, None))
    return Card(row["sequence"], f"event: card\ndata: {message}\n\n", f"event: card\ndata: {notice}\n\n")


class Cards:
    """Draws the cards that open pages wait for."""

    def __init__(self, source: Source, draw: Callable[[Row], str]) -> None:
        self._source = source
        self._draw = draw
        self._drawn: dict[str, Card] = {}
        self._wanted: dict[str, tuple[int, float]] = {}
        """the sequence that is wanted, and until when"""
        self._changed = asyncio.Condition()
        self._asked = asyncio.Event()

    async def of(self, told: list[Told]) -> list[Card]:
        """The cards after these updates, or after later ones, in their order."""
        latest: dict[str, int] = {}
        for update, _, _ in told:
            if update.sequence > 0:
                latest.pop(update.event_id, None)
                latest[update.event_id] = update.sequence
        for event, sequence in latest.items():
            if not self._has(event, sequence):
                before, _ = self._wanted.get(event, (0, 0.0))
                self._wanted[event] = max(sequence, before), time.monotonic() + PATIENCE_S
                self._asked.set()
        try:
            async with asyncio.timeout(PATIENCE_S), self._changed:
                await self._changed.wait_for(lambda: all(self._has(*one) for one in latest.items()))
        except TimeoutError:
            log.warning("cards are late", events=len(latest))
        return [self._drawn[event] for event, sequence in latest.items() if self._has(event, sequence)]

    async def run(self) -> None:
        """Draw what is wanted, for ever."""
        while True:
            await self._asked.wait()
            try:
                found = await asyncio.to_thread(browse.cards, self._source.reader, [*self._wanted])
            except DatabaseError as error:
                log.warning("cards cannot be drawn", error=str(error))
                found = {}
                await asyncio.sleep(1)
            for event, row in found.items():
                if row["sequence"] >= self._wanted.get(event, (0, 0.0))[0]:
                    self._keep(event, row)
            for event, (_, until) in [*self._wanted.items()]:
                if time.monotonic() > until:
                    self._wanted.pop(event)
            while len(self._drawn) > KEPT:
                self._drawn.pop(next(iter(self._drawn)))
            if found:
                async with self._changed:
                    self._changed.notify_all()
            if self._wanted:
                await asyncio.sleep(WAIT_S)
            else:
                self._asked.clear()

    def _keep(self, event: str, row: Row) -> None:
        self._wanted.pop(event, None)
        self._drawn.pop(event, None)
        try:
            self._drawn[event] = card_of(event, row, self._draw(row))
        except Exception:
            log.exception("card not drawn", event_id=event)  # whatever a record holds, the other cards are drawn

    def _has(self, event: str, sequence: int) -> bool:
        card = self._drawn.get(event)
        return card is not None and card.sequence >= sequence
