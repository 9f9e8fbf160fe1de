"""Connections to Postgres from the URI people write for `psql`."""

import sqlalchemy as sa

CONNECT_SECONDS = 10


def create_engine(uri: str) -> sa.Engine:
    """An engine for a `postgresql://` URI, on psycopg 3. Connects at first use."""
    url = sa.make_url(uri)
    if url.drivername in {"postgresql", "postgres"}:
        url = url.set(drivername="postgresql+psycopg")
    return sa.create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": CONNECT_SECONDS})
