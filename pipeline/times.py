"""Exact times: the stages count in whole microseconds since 1970, the records carry date-times in UTC."""

from datetime import UTC, datetime

SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR


def to_micros(time: datetime) -> int:
    """Whole microseconds from 1970 to `time`, exactly; `time` must know its zone."""
    return round(time.timestamp() * SECOND)  # a double tells microseconds apart until the year 2255


def from_micros(micros: int) -> datetime:
    """The date-time in UTC that lies `micros` microseconds after 1970."""
    return datetime.fromtimestamp(micros / SECOND, UTC)


def from_millis(millis: int) -> datetime:
    """The date-time in UTC of a Kafka time stamp (milliseconds since 1970)."""
    return from_micros(millis * 1000)
