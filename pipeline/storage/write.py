"""Writes: batches of records to one database, each in a transaction, again and again while it is away."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import msgspec
import sqlalchemy as sa
import stamina
import structlog

from pipeline.records import Assignment, EventUpdate, Record
from pipeline.storage.engine import create_engine, explained
from pipeline.storage.links import alerts_of, write_links
from pipeline.storage.offsets import RECORD, Stored
from pipeline.storage.upserts import statements

log = structlog.get_logger()

REFUSALS = frozenset(["21", "22", "23", "54"])
"""Classes of SQLSTATE that are about the data: what it is, what it refers to, and how large it is.
https://www.postgresql.org/docs/current/errcodes-appendix.html"""
OUTAGES = frozenset(["08", "25", "40", "53", "55", "57", "58", "F0", "XX"])
"""Those that are about the server and what it is at: the data may be taken later."""
Month = tuple[int, int]
"""Year and month, in UTC."""


class Writer:
    """Writes batches of records to one database."""

    def __init__(self, uri: str, on_retry: Callable[[], object] = lambda: None) -> None:
        self.engine = create_engine(uri)
        self._on_retry = on_retry
        self._months: set[Month] = set()
        """for which there are partitions"""

    def write(self, records: Sequence[Record], stored: Sequence[Stored] = ()) -> None:
        """Write assignments, clusters, event updates, links of alerts, and how far topics are stored by them, in one transaction.

        Waits and tries again while the database is away or another writer is in the way. Raises Refused for data that Postgres
        does not take, and DatabaseError for what else a retry cannot fix.
        """
        if not records and not stored:
            return
        try:
            batch = list(statements(records))
            months = {_month(record.story.crawled_at) for record in records if isinstance(record, Assignment)}
        except (msgspec.MsgspecError, ValueError, OverflowError) as error:
            raise Refused(f"{error}.") from None
        alerts = alerts_of(record for record in records if isinstance(record, EventUpdate))
        with explained(self.engine):
            for attempt in stamina.retry_context(on=self._may_pass, attempts=None, timeout=None, wait_max=5.0):
                with attempt, self._refusals():
                    self._make_partitions(months)
                    with self.engine.begin() as connection:
                        for statement, parameters in batch:
                            connection.execute(statement, parameters)
                        if alerts:
                            write_links(connection, alerts)
                        if stored:
                            connection.execute(RECORD, {"stored": json.dumps([part._asdict() for part in stored])})

    def _make_partitions(self, months: set[Month]) -> None:
        """Have a partition for the stories of each month. Each is made in a transaction of its own, which no batch waits for."""
        for month in sorted(months - self._months):
            with self.engine.begin() as connection:
                connection.execute(
                    sa.text("SELECT news.make_partition(:month)"), {"month": datetime(*month, 1, tzinfo=UTC)}
                )
            self._months.add(month)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.DBAPIError as error:
            if _lacks_partition(error):
                self._months.clear()
                raise PartitionDropped("The partition of a story was dropped meanwhile.") from None
            if _class(error) in REFUSALS:
                raise Refused(str(error.orig).splitlines()[0]) from None
            raise

    def write_acceptable(self, records: Sequence[Record], stored: Sequence[Stored] = ()) -> list[tuple[int, str]]:
        """Write those that Postgres accepts, as `write` does; returns index and reason of each that it refuses for its data."""
        try:
            self.write(records, stored)
        except Refused as error:
            refused = self._halved(records, str(error))
            self.write([], stored)
            return refused
        return []

    def _halved(self, records: Sequence[Record], reason: str) -> list[tuple[int, str]]:
        """Write those of refused records that Postgres accepts, half by half."""
        if len(records) == 1:
            return [(0, f"Postgres refuses it: {reason}")]
        half = len(records) // 2
        later = self.write_acceptable(records[half:])
        return [*self.write_acceptable(records[:half]), *((half + index, reason) for index, reason in later)]

    def _may_pass(self, error: Exception) -> bool:
        """Whether it may work later: the connection failed, a deadlock chose us, or the server stands by for another."""
        passing = isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError | PartitionDropped) or (
            isinstance(error, sa.exc.DBAPIError) and _class(error) in OUTAGES
        )
        if passing:
            self._on_retry()
            log.warning("Postgres did not take a batch; trying again", error=str(error).splitlines()[0])
        return passing

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()


class Refused(ValueError):
    """Data that the tables do not take; the message says why, mostly in Postgres' own words."""


class PartitionDropped(RuntimeError):
    """The partition of a story was dropped after the writer had seen it; the next attempt makes it again."""


def _month(time: datetime) -> Month:
    in_utc = time.astimezone(UTC)
    return in_utc.year, in_utc.month


def _lacks_partition(error: sa.exc.DBAPIError) -> bool:
    """Whether there is no partition for a row: a violation of a check that no constraint makes."""
    diagnosis = getattr(error.orig, "diag", None)
    return diagnosis is not None and diagnosis.sqlstate == "23514" and diagnosis.constraint_name is None


def _class(error: sa.exc.DBAPIError) -> str:
    """The class of SQLSTATE; empty where the connection was lost before the server could say."""
    return (getattr(error.orig, "sqlstate", None) or "")[:2]
