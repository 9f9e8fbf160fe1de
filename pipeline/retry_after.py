"""When a server wants to be asked again."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

MOST_DIGITS = 9
"""Digits of a number of seconds that anyone means."""


def retry_after(text: str, now: datetime) -> timedelta | None:
    """How long a server wants to be left alone: a header of HTTP, in seconds or as a date; None if it says nothing.

    https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
    """
    after = seconds(text)
    if after is not None:
        return after
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(timedelta(), (until if until.tzinfo else until.replace(tzinfo=UTC)) - now)


def seconds(text: str) -> timedelta | None:
    """A number of seconds in a header of HTTP; None if it is none."""
    text = text.strip()
    return timedelta(seconds=int(text)) if text.isascii() and text.isdigit() and len(text) < MOST_DIGITS else None
