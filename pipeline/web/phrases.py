"""Facts in plain words: durations, counts, why an event broke."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

MINUTES_UP_TO = 100
"""Minutes that are not written in hours."""
HOURS_UP_TO = 48


def duration(span: timedelta) -> str:
    """A length of time: `83 min`, `3 h 10 min`, `5 days`."""
    minutes = round(abs(span).total_seconds() / 60)
    if minutes < MINUTES_UP_TO:
        return f"{minutes}\N{NO-BREAK SPACE}min"
    hours, rest = divmod(minutes, 60)
    if hours < HOURS_UP_TO:
        return f"{hours} h {rest:02} min".replace(" ", "\N{NO-BREAK SPACE}") if rest else f"{hours}\N{NO-BREAK SPACE}h"
    return f"{round(hours / 24)} days"


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with what it counts: `1 story`, `2,000 stories`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def stories(number: int) -> str:
    """So many stories."""
    return counted(number, "story", "stories")


def clock(moment: datetime, now: datetime | None = None) -> str:
    """A time in UTC: `05:36`, with the date where that is not today's, and the year where that is another."""
    moment = moment.astimezone(UTC)
    now = now.astimezone(UTC) if now else None
    if now is not None and moment.date() == now.date():
        return f"{moment:%H:%M}"
    if now is not None and moment.year == now.year:
        return f"{moment.day} {moment:%b %H:%M}"
    return f"{moment.day} {moment:%b %Y %H:%M}"


class Why(msgspec.Struct, frozen=True):
    """Why an event broke, in the numbers of its alert."""

    stories: str
    publishers: str
    within: str
    expected: str
    """with a comma before it, or nothing"""
    rule: str


def why(alert: Mapping[str, Any]) -> Why:
    """What the alert of an event says of why it broke."""
    rule = alert["rule"]
    span = datetime.fromisoformat(alert["window_end"]) - datetime.fromisoformat(alert["window_start"])
    expected = alert.get("expected_in_window")
    return Why(
        stories(alert["stories_in_window"]),
        counted(alert["publishers_in_window"], "publisher"),
        duration(span),
        ""
        if expected is None
        else f", where {expected:,.0f} could be expected"
        if round(expected)
        else ", where none could be expected",
        f"more than {stories(rule['threshold'])} within {duration(timedelta(seconds=rule['window_seconds']))} "
        f"from at least {counted(rule['min_publishers'], 'publisher')}",
    )


def state_of(event: Mapping[str, Any]) -> tuple[str, str]:
    """The kind and the words of an event's state on its card: what it does, not what the record calls it."""
    if event["merged_into"]:
        return "ended", "went on in another event"
    if event["state"] == "ended":
        return "ended", "dismissed" if event["dismissed"] else "ended"
    hours = by_hour(event["quarters"])
    lately, before = hours[0], hours[1]
    if event["state"] == "reopened":
        return "new", f"broke again, {lately:,} in the last hour"
    if event["stream_time"] - event["started_at"] < timedelta(hours=1):
        return "new", f"new, {lately:,} in the last hour"
    if lately > max(3, before):
        return "growing", f"growing, {lately:,} in the last hour"
    return "quiet", f"{lately:,} in the last hour"


def amended(row: Mapping[str, Any]) -> str:
    """What an amendment did."""
    moved = stories(len(row["stories"]))
    return {
        "dismiss": "dismissed",
        "reinstate": "reinstated",
        "pin": f"headline pinned, “{row['headline']}”," if row["headline"] else "headline unpinned",
        "merge": "merged with another cluster",
        "move": f"{moved} moved" if row["stories"] else "merged with another cluster",
        "split": f"{moved} split off",
    }[row["action"]]


def by_hour(quarters: Mapping[str, int]) -> list[int]:
    """Stories of the last hour and of the one before, from those of the last quarter hours, which are named 0 for the latest."""
    return [sum(quarters.get(str(quarter), 0) for quarter in range(4 * hour, 4 * hour + 4)) for hour in range(2)]
