"""What a stage refuses of the one before it: records that this project never writes, but someone with access to a topic may."""

from datetime import datetime, timedelta

from pipeline.codec import InvalidRecord

BROKER_CLOCK_TOLERANCE = timedelta(hours=1)
"""How far the clocks of brokers may be apart."""


def check_times(record: str, at: datetime, **times: datetime | None) -> None:
    """Raises InvalidRecord for a time that is long after the broker took the record in."""
    latest = at + BROKER_CLOCK_TOLERANCE
    for name, time in times.items():
        if time is not None and time > latest:
            raise InvalidRecord(
                f"Wrong {record}: {name}: {time.isoformat()} is after the record came ({at.isoformat()})."
            )
