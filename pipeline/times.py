"""Exact times: the stages count in whole microseconds since 1970, the records carry date-times in UTC."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR


def to_micros(time: datetime) -> int:
    """Whole microseconds from 1970 to `time`, exactly; `time` must know its zone."""
    since = time - EPOCH
    return (since.days * 86_400 + since.seconds) * SECOND + since.microseconds


def from_micros(micros: int) -> datetime:
    """The date-time in UTC that lies `micros` microseconds after 1970."""
    return EPOCH + timedelta(0, 0, micros)


@lru_cache(maxsize=1_000)  # all records of a batch have the time at which the broker took it in
def from_millis(millis: int) -> datetime:
    """The date-time in UTC of a Kafka time stamp (milliseconds since 1970)."""
    return from_micros(millis * 1000)
