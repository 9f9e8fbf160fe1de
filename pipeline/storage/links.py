"""Links of events: an alert is compared with those of all other editions. Editions meet only here, in Postgres."""

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONPATH, insert

from pipeline.records import EventUpdate
from pipeline.stages.link import REACH, Alert, Link, alert_of, link
from pipeline.storage.schema import event_links, event_updates

LOCK = sa.text("SELECT pg_advisory_xact_lock(hashtext('newsburst.event_links'))")
"""Held until the transaction ends: when two alerts are written at once, the second transaction sees the first alert."""


def write_links(connection: sa.Connection, alerts: Sequence[EventUpdate]) -> None:
    """Write the links of alerts that the same transaction has written; links that exist already stay as they are.

    Every alert is compared with every other, whatever their order: the links are a function of the set of alerts.
    """
    connection.execute(LOCK)
    rows = [row for alert in alerts for found in _links(connection, alert_of(alert)) for row in _both_ways(found)]
    if rows:
        connection.execute(insert(event_links).on_conflict_do_nothing(), rows)


def _links(connection: sa.Connection, alert: Alert) -> Iterable[Link]:
    updates = event_updates.c
    edition = updates.record["edition"].astext
    headlines = sa.func.jsonb_path_query_array(updates.record, sa.cast("$.stories[*].title", JSONPATH))
    others = sa.select(updates.event_id, edition, updates.at, headlines).where(
        updates.sequence == 1, updates.at.between(alert.at - REACH, alert.at + REACH), edition != alert.edition
    )
    for event_id, of_edition, at, titles in connection.execute(others):
        found = link(alert, Alert(event_id, of_edition, at, tuple(titles)))
        if found is not None:
            yield found


def _both_ways(found: Link) -> Iterable[dict[str, Any]]:
    yield found._asdict()
    yield found._replace(event_id=found.other_id, other_id=found.event_id)._asdict()
