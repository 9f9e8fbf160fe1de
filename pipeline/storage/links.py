"""Links of events: an alert is compared with those of all other editions. Editions meet only here, in Postgres."""

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from pipeline.records import EventUpdate
from pipeline.stages.link import REACH, Alert, Link, Profile, alert_of, link
from pipeline.storage.schema import alert_profiles, event_links, events

LOCK = sa.text("SELECT pg_advisory_xact_lock(hashtext('newsburst.event_links'))")
"""Held until the transaction ends: when two alerts are written at once, the second transaction sees the first alert."""


def alerts_of(updates: Iterable[EventUpdate]) -> list[Alert]:
    """The alerts among some updates that can be linked. To be called before the transaction: it takes time."""
    found = (alert_of(update) for update in updates if update.sequence == 1)
    return [alert for alert in found if alert is not None]


def write_links(connection: sa.Connection, alerts: Sequence[Alert]) -> None:
    """Write the links of alerts, whose events the same transaction has written; links that exist already stay as they are.

    Every alert is compared with every other, whatever their order: the links are a function of the set of alerts.
    """
    connection.execute(LOCK)
    for alert in alerts:
        _write_profile(connection, alert)
        found = {link.other_id: link for link in _links(connection, alert)}
        if not found:
            continue
        # what is being deleted at this moment is waited for, and left out
        there = sa.select(events.c.id).where(events.c.id.in_(found)).order_by(events.c.id)
        kept = connection.scalars(there.with_for_update(read=True, key_share=True)).all()
        rows = [row for event_id in kept for row in _both_ways(found[event_id])]
        if rows:
            connection.execute(insert(event_links).on_conflict_do_nothing(), rows)


def _write_profile(connection: sa.Connection, alert: Alert) -> None:
    row = {"event_id": alert.event_id, "edition": alert.edition, "at": alert.at, **alert.profile._asdict()}
    statement = insert(alert_profiles).values(row)
    connection.execute(statement.on_conflict_do_update(index_elements=["event_id"], set_=row))


def _links(connection: sa.Connection, alert: Alert) -> Iterable[Link]:
    profiles = alert_profiles.c
    at, reach = sa.literal(alert.at, sa.DateTime(timezone=True)), sa.literal(REACH, sa.Interval)
    named = profiles.places, profiles.numbers, profiles.names
    others = sa.select(profiles.event_id, profiles.edition, profiles.at, *named).where(
        profiles.at.between(at - reach, at + reach), profiles.edition != alert.edition
    )
    for event_id, edition, when, places, numbers, names in connection.execute(others):
        found = link(alert, Alert(event_id, edition, when, Profile(places, numbers, names)))
        if found is not None:
            yield found


def _both_ways(found: Link) -> Iterable[dict[str, Any]]:
    yield found._asdict()
    yield found._replace(event_id=found.other_id, other_id=found.event_id)._asdict()
