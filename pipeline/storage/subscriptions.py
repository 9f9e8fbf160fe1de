"""Subscriptions and their deliveries in Postgres: who is told of events, what waits to be sent, and what was sent.

An update becomes deliveries in the transaction that notes how far the topic has been read, so none is lost and none comes twice,
however many processes read. To a subscription one delivery is under way at a time; while it is, or has to wait, the others wait.
Of an event, one delivery waits for a subscription: a later update takes the place of one that could not be sent yet, so that a
subscriber that was away gets what is true, not all that was.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from pipeline.filters import EventFilter
from pipeline.records import EventUpdate
from pipeline.storage.engine import create_engine, explained
from pipeline.storage.read import Row
from pipeline.storage.schema import deliveries, push_positions, subscriptions

LEASE = timedelta(minutes=1)
"""How long a delivery that is being sent is left alone: longer than any attempt."""
STILL_NEWS = timedelta(hours=1)
"""An event that ended longer ago than this is not told to a subscription that is resumed."""


class Subscription(NamedTuple):
    """Who is told of which events, and how."""

    id: str
    kind: str
    target: str
    secret: str | None
    states: Sequence[str]
    wanted: EventFilter
    created_at: datetime
    failing_since: datetime | None


class Delivery(NamedTuple):
    """What is to be sent."""

    subscription: Subscription
    event_id: str
    sequence: int
    attempts: int
    """with this one"""
    record: Mapping[str, Any]


class Read(NamedTuple):
    """An update as it was read from the topic."""

    update: EventUpdate
    partition: int
    offset: int
    """of the next record"""
    at: datetime
    """when the broker took it in"""


class Subscriptions:
    """The subscriptions of one database. Every method raises DatabaseError."""

    def __init__(self, uri: str) -> None:
        self._engine = create_engine(uri)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def add(self, one: Subscription) -> None:
        """Add a subscription, which is told of events from now on."""
        row = {
            "id": one.id, "kind": one.kind, "target": one.target, "secret": one.secret, "states": list(one.states),
            "created_at": one.created_at, **{name: getattr(one.wanted, name) for name in _FILTER},
        }  # fmt: skip
        with explained(self._engine), self._engine.begin() as connection:
            connection.execute(sa.insert(subscriptions).values(row))

    def listed(self) -> list[Row]:
        """The subscriptions that were not cancelled, with how their deliveries are."""
        statement = """
            SELECT s.id, s.kind, s.target, s.edition, s.publisher, s.words, s.publishers, s.states, s.created_at, s.failing_since,
                   s.parked_at, s.parked_because, count(d.*) FILTER (WHERE d.status = 'waiting') AS waiting,
                   count(d.*) FILTER (WHERE d.status = 'delivered') AS delivered,
                   max(d.changed_at) FILTER (WHERE d.status = 'delivered') AS last_delivered_at,
                   (array_agg(d.answer ORDER BY d.changed_at DESC) FILTER (WHERE d.answer IS NOT NULL))[1] AS last_answer
            FROM news.subscriptions s LEFT JOIN news.deliveries d ON d.subscription_id = s.id
            WHERE s.ended_at IS NULL GROUP BY s.id ORDER BY s.created_at, s.id
        """
        return self._rows(statement)

    def deliveries(self, subscription_id: str, limit: int) -> list[Row]:
        """The last deliveries of a subscription, the latest first."""
        statement = """
            SELECT d.changed_at, d.status, d.event_id, d.sequence, d.state, d.attempts, d.due_at, d.answer
            FROM news.deliveries d WHERE d.subscription_id = :id ORDER BY d.changed_at DESC, d.event_id, d.sequence LIMIT :limit
        """
        return self._rows(statement, id=subscription_id, limit=limit)

    def cancel(self, subscription_id: str, at: datetime) -> bool:
        """End a subscription; whether there was one."""
        ended = sa.update(subscriptions).where(
            subscriptions.c.id == subscription_id, subscriptions.c.ended_at.is_(None)
        )
        with explained(self._engine), self._engine.begin() as connection:
            found = connection.execute(ended.values(ended_at=at, secret=None)).rowcount
            self._drop(connection, subscription_id, at, deliveries.c.status == "waiting")
        return bool(found)

    def resume(self, subscription_id: str, at: datetime) -> bool:
        """Go on sending to a subscription that was given up: what waits for it is sent, but for events that are over."""
        begun = sa.update(subscriptions).where(
            subscriptions.c.id == subscription_id, subscriptions.c.parked_at.is_not(None)
        )
        waiting = sa.update(deliveries).where(
            deliveries.c.subscription_id == subscription_id, deliveries.c.status == "waiting"
        )
        over = (deliveries.c.state == "ended") & (deliveries.c.changed_at < at - STILL_NEWS)
        with explained(self._engine), self._engine.begin() as connection:
            found = connection.execute(begun.values(parked_at=None, parked_because=None, failing_since=None)).rowcount
            self._drop(connection, subscription_id, at, (deliveries.c.status == "waiting") & over)
            connection.execute(waiting.values(due_at=at))
        return bool(found)

    def position(self) -> dict[int, int]:
        """How far the topic has been read: the next offset of each partition."""
        rows = self._rows('SELECT partition, "offset" FROM news.push_positions')
        return {row["partition"]: row["offset"] for row in rows}

    def take_in(self, updates: Sequence[Read], position: Mapping[int, int], at: datetime) -> int:
        """Make deliveries of updates, and note how far the topic has been read; returns how many were made."""
        made = 0
        with explained(self._engine), self._engine.begin() as connection:
            connection.execute(_ONE_READER)
            done = {row.partition: row.offset for row in connection.execute(sa.select(push_positions))}
            known = [_subscription(dict(row)) for row in connection.execute(_ACTIVE).mappings()]
            for read in updates:
                if read.offset <= done.get(read.partition, 0):
                    continue
                if read.update.state == "ended":
                    connection.execute(_OVER, {"event": read.update.event_id, "at": at})
                made += sum(
                    self._deliver(connection, one, read.update, at)
                    for one in known
                    if read.at >= one.created_at and read.update.state in one.states and one.wanted.matches(read.update)
                )
            for partition, offset in position.items():
                row = insert(push_positions).values(partition=partition, offset=offset)
                later = sa.func.greatest(push_positions.c.offset, row.excluded.offset)
                connection.execute(row.on_conflict_do_update(index_elements=["partition"], set_={"offset": later}))
        return made

    def due(self, at: datetime, limit: int, *, mail: bool = True, only: str | None = None) -> list[Delivery]:
        """Deliveries that are to be sent now, one a subscription; no one else gets them for the time of a lease.

        Those of mail are left out if this process cannot send it.
        """
        statement = sa.text(
            """
            WITH ready AS (
                SELECT s.id FROM news.subscriptions s
                WHERE s.parked_at IS NULL AND s.ended_at IS NULL AND (:mail OR s.kind <> 'email')
                  AND (CAST(:only AS text) IS NULL OR s.id = :only)
                  AND EXISTS (SELECT FROM news.deliveries d WHERE d.subscription_id = s.id AND d.status = 'waiting')
                  AND NOT EXISTS (
                      SELECT FROM news.deliveries d
                      WHERE d.subscription_id = s.id AND d.status = 'waiting' AND d.due_at > :at)
                LIMIT :limit FOR UPDATE OF s SKIP LOCKED
            ), first AS (
                SELECT DISTINCT ON (d.subscription_id) d.subscription_id, d.event_id, d.sequence
                FROM news.deliveries d JOIN ready r ON r.id = d.subscription_id
                WHERE d.status = 'waiting' ORDER BY d.subscription_id, d.record ->> 'at', d.event_id
            )
            UPDATE news.deliveries d SET due_at = :until, attempts = d.attempts + 1
            FROM first f JOIN news.subscriptions s ON s.id = f.subscription_id
            WHERE d.subscription_id = f.subscription_id AND d.event_id = f.event_id AND d.sequence = f.sequence
              AND d.status = 'waiting' AND d.due_at <= :at
            RETURNING s.*, d.event_id, d.sequence, d.attempts, d.record
            """
        )
        given = {"at": at, "until": at + LEASE, "limit": limit, "mail": mail, "only": only}
        with explained(self._engine), self._engine.begin() as connection:
            rows = connection.execute(statement, given).mappings().all()
        return [
            Delivery(_subscription(dict(row)), row["event_id"], row["sequence"], row["attempts"], row["record"])
            for row in rows
        ]

    def delivered(self, one: Delivery, answer: str, at: datetime) -> None:
        """Note that a delivery arrived; what waited for it is due."""
        of = (deliveries.c.subscription_id == one.subscription.id) & (deliveries.c.status == "waiting")
        with explained(self._engine), self._engine.begin() as connection:
            connection.execute(_row_of(one).values(status="delivered", answer=answer, changed_at=at, record=None))
            connection.execute(sa.update(deliveries).where(of, deliveries.c.due_at > at).values(due_at=at))
            works = sa.update(subscriptions).where(subscriptions.c.id == one.subscription.id)
            connection.execute(works.values(failing_since=None))

    def failed(self, one: Delivery, answer: str, at: datetime, again_at: datetime | None) -> None:
        """Note that a delivery did not arrive, and when it is tried again; with None, its subscription is given up."""
        this = subscriptions.c.id == one.subscription.id
        with explained(self._engine), self._engine.begin() as connection:
            waiting = _row_of(one).where(deliveries.c.status == "waiting")
            connection.execute(waiting.values(answer=answer, changed_at=at, due_at=again_at or at))
            failing = sa.func.coalesce(subscriptions.c.failing_since, at)
            connection.execute(sa.update(subscriptions).where(this).values(failing_since=failing))
            if again_at is None:
                connection.execute(sa.update(subscriptions).where(this).values(parked_at=at, parked_because=answer))

    def forget(self, before: datetime) -> int:
        """Delete deliveries that were done with before then; as the owner of the schema. Returns how many."""
        old = sa.delete(deliveries).where(deliveries.c.changed_at < before, deliveries.c.status != "waiting")
        with explained(self._engine), self._engine.begin() as connection:
            return connection.execute(old).rowcount

    @staticmethod
    def _deliver(connection: sa.Connection, one: Subscription, update: EventUpdate, at: datetime) -> bool:
        """Have an update be sent, unless its state was told already; it takes the place of earlier ones that wait."""
        of_event = (deliveries.c.subscription_id == one.id) & (deliveries.c.event_id == update.event_id)
        known = connection.execute(sa.select(deliveries).where(of_event)).all()
        told = [(row.state, row.reopened) for row in known if row.status == "delivered"]
        if (update.state, update.reopened) in told or any(row.sequence >= update.sequence for row in known):
            return False
        superseded = sa.update(deliveries).where(of_event, deliveries.c.status == "waiting")
        before = connection.execute(
            superseded.values(status="superseded", changed_at=at, record=None).returning(
                deliveries.c.due_at, deliveries.c.attempts
            )
        ).all()
        record = msgspec.to_builtins(msgspec.structs.replace(update, members=None))
        connection.execute(
            sa.insert(deliveries).values(
                subscription_id=one.id, event_id=update.event_id, sequence=update.sequence, state=update.state,
                reopened=update.reopened, status="waiting", attempts=max([0, *(row.attempts for row in before)]),
                due_at=max([at, *(row.due_at for row in before)]), changed_at=at, record=record,
            )
        )  # fmt: skip
        return True

    @staticmethod
    def _drop(connection: sa.Connection, subscription_id: str, at: datetime, which: sa.ColumnElement[bool]) -> None:
        dropped = sa.update(deliveries).where(deliveries.c.subscription_id == subscription_id, which)
        connection.execute(dropped.values(status="dropped", changed_at=at, record=None))

    def _rows(self, statement: str, **parameters: Any) -> list[Row]:
        with explained(self._engine), self._engine.connect() as connection:
            return [dict(row) for row in connection.execute(sa.text(statement), parameters).mappings()]


_OVER = sa.text(
    """
    UPDATE news.deliveries d SET status = 'dropped', changed_at = :at, record = NULL FROM news.subscriptions s
    WHERE d.event_id = :event AND d.status = 'waiting' AND d.attempts > 0 AND s.id = d.subscription_id
      AND 'ended' <> ALL (s.states)
    """
)
"""An event that is over is not told to who could not be reached before, and is not told of ends."""
_ONE_READER = sa.text("SELECT pg_advisory_xact_lock(hashtext('newsburst.push'))")
"""Of several processes that read the topic, one at a time writes down what it has read."""
_FILTER = ("edition", "publisher", "words", "publishers")
_ACTIVE = sa.select(subscriptions).where(subscriptions.c.ended_at.is_(None))


def _row_of(one: Delivery) -> sa.Update:
    return sa.update(deliveries).where(
        deliveries.c.subscription_id == one.subscription.id,
        deliveries.c.event_id == one.event_id,
        deliveries.c.sequence == one.sequence,
    )


def _subscription(row: Mapping[str, Any]) -> Subscription:
    wanted = EventFilter(**{name: row[name] for name in _FILTER})
    return Subscription(
        row["id"],
        row["kind"],
        row["target"],
        row["secret"],
        row["states"],
        wanted,
        row["created_at"],
        row["failing_since"],
    )
