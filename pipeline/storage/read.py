"""What the commands read from Postgres: the reports, and a few counts."""

import time
from datetime import timedelta
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from pipeline.storage.engine import create_engine, explained
from pipeline.storage.reports import REPORTS, Report

Row = dict[str, Any]


class Reader:
    """Reads from one database. Every method raises DatabaseError."""

    def __init__(self, uri: str, *, timeout: timedelta | None = None) -> None:
        """With a timeout, a statement that takes longer raises DatabaseError."""
        self.engine = create_engine(uri, timeout=timeout, read_only=True)

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()

    def report(self, name: str, *, edition: str | None = None, limit: int | None = None, **given: Any) -> list[Row]:
        """The rows of a report; its parameters by their names in SQL. `edition` and `limit` hold for every report."""
        report = REPORTS[name]
        both = {"edition": edition, "limit": limit}
        given |= {name: value for name, value in both.items() if name in report.options}
        given = {
            name: value.encode(errors="replace").decode() if isinstance(value, str) else value
            for name, value in given.items()
            if value is not None
        }
        return self.rows(_statement(report, given, edition, limit), **given | both)

    def events(self) -> list[Row]:
        """All events as they are now, the first first."""
        return self.rows("SELECT * FROM news.events WHERE sequence <> 0 ORDER BY first_seen, id")

    def count(self, table: str) -> int:
        """How many rows a table of ours has; clusters that were merged into another do not count."""
        where = {"clusters": " WHERE merged_into IS NULL", "events": " WHERE sequence <> 0"}.get(table, "")
        return int(self.rows(f"SELECT count(*) AS count FROM news.{table}{where}")[0]["count"])  # noqa: S608 - our names

    def version(self) -> str:
        """The version of the server."""
        return str(self.rows("SHOW server_version")[0]["server_version"])

    def clock_ahead(self) -> float:
        """By how many seconds the server's clock is ahead of ours."""
        before = time.time()
        said = float(self.rows("SELECT extract(epoch FROM clock_timestamp()) AS now")[0]["now"])
        return said - (before + time.time()) / 2

    def rows(self, statement: str, **parameters: Any) -> list[Row]:
        """The rows of a statement; its parameters by their names in it."""
        with explained(self.engine), self.engine.connect() as connection:
            rows = connection.execute(sa.text(statement), parameters).mappings()
            return [
                {name: float(value) if isinstance(value, Decimal) else value for name, value in row.items()}
                for row in rows
            ]


def _statement(report: Report, given: Row, edition: str | None, limit: int | None) -> str:
    arguments = ", ".join(f'"{name}" => :{name}' for name in given)
    source = f"news.{report.sql_name}" + ("" if report.is_view else f"({arguments})")
    chosen = " WHERE news.is_of(edition, :edition)" if edition is not None and "edition" not in report.options else ""
    return f"SELECT * FROM {source}{chosen}" + ("" if limit is None else " LIMIT :limit")  # noqa: S608 - our names
