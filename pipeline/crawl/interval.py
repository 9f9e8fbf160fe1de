"""How often a feed is asked: as often as it changes, within bounds; less often where it fails."""

from datetime import timedelta

SHORTEST = timedelta(minutes=2)
LONGEST = timedelta(hours=6)
FIRST = timedelta(minutes=10)
FIRST_FAILURE = timedelta(minutes=5)
SHORTER, LONGER = 0.6, 1.4
"""By these an interval changes after an answer with something new, and after one without."""


def next_interval(before: timedelta | None, new_entries: int, at_least: timedelta = SHORTEST) -> timedelta:
    """The interval until a feed is asked again, after an answer with so many new entries; the server may ask for more."""
    interval = (before or FIRST) * (SHORTER if new_entries else LONGER)
    return max(SHORTEST, min(LONGEST, interval), min(at_least, LONGEST))


def after_failure(failures: int, at_least: timedelta = SHORTEST) -> timedelta:
    """The interval after so many failures in a row: twice as long each time."""
    wait: timedelta = min(LONGEST, FIRST_FAILURE * 2 ** min(failures - 1, 10))
    return max(wait, min(at_least, LONGEST))
