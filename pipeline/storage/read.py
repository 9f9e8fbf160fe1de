"""What the commands read from Postgres: the reports, and a few counts."""

import time
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from pipeline.storage.engine import create_engine, explained

Row = dict[str, Any]


class Reader:
    """Reads from one database. Every method raises DatabaseError."""

    def __init__(self, uri: str) -> None:
        self.engine = create_engine(uri)

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()

    def breaking(self) -> list[Row]:
        """The events that have not ended, the latest first."""
        return self._rows("SELECT * FROM news.report_breaking_now")

    def event(self, event_id: str) -> list[Row]:
        """The stories of an event, the first first; empty if there is no such event."""
        return self._rows("SELECT * FROM news.report_event(:event_id)", event_id=event_id)

    def timeline(self, event_id: str) -> list[Row]:
        """The updates of an event in order; empty if there is no such event."""
        return self._rows("SELECT * FROM news.report_event_timeline(:event_id)", event_id=event_id)

    def linked(self, event_id: str) -> list[Row]:
        """The events of other editions that are probably one happening with an event, in the order of their alerts."""
        return self._rows("SELECT * FROM news.report_linked_events(:event_id)", event_id=event_id)

    def world(self, since: datetime) -> list[Row]:
        """What broke in several editions and had a story since then, the latest first."""
        return self._rows("SELECT * FROM news.report_world(:since)", since=since)

    def events(self) -> list[Row]:
        """All events as they are now, the first first."""
        return self._rows("SELECT * FROM news.events ORDER BY first_seen, id")

    def count(self, table: str) -> int:
        """How many rows a table of ours has; clusters that were merged into another do not count."""
        where = " WHERE merged_into IS NULL" if table == "clusters" else ""
        return int(self._rows(f"SELECT count(*) AS count FROM news.{table}{where}")[0]["count"])  # noqa: S608 - our names

    def version(self) -> str:
        """The version of the server."""
        return str(self._rows("SHOW server_version")[0]["server_version"])

    def clock_ahead(self) -> float:
        """By how many seconds the server's clock is ahead of ours."""
        before = time.time()
        said = float(self._rows("SELECT extract(epoch FROM clock_timestamp()) AS now")[0]["now"])
        return said - (before + time.time()) / 2

    def _rows(self, statement: str, **parameters: Any) -> list[Row]:
        with explained(self.engine), self.engine.connect() as connection:
            return [dict(row) for row in connection.execute(sa.text(statement), parameters).mappings()]
