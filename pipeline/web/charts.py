"""Charts as inline SVG. Each has a text alternative; colours come from the style sheet by class."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from markupsafe import Markup

QUARTER = timedelta(minutes=15)
WIDTH, HEIGHT = 820, 190
"""Of the large chart, in units of its view box."""
SMALL_WIDTH, SMALL_HEIGHT = 190, 36
LEAST_TOP = 6
"""Stories that fill the height of a small chart, where none has more."""
LEAST_BARS = 16
MOST_BARS = 400
"""Bars of the large chart; longer times have wider steps."""
LABELS = 7
"""Times below it, at most."""
_STEPS = [timedelta(hours=hours) for hours in (1, 2, 3, 6, 12, 24, 48, 96, 168, 336, 672)]


class Alert(NamedTuple):
    """What a chart shows of an alert."""

    at: datetime
    window_start: datetime
    window_end: datetime
    stories: int
    publishers: int


def quarters(counts: Mapping[str, int], number: int, since_alert: timedelta | None) -> Markup:
    """Stories of the last quarter hours, the latest at the right; those since the alert in the alarm colour.

    `counts` are stories by quarter hours before now: "0" are the last 15 minutes.
    """
    top = max([LEAST_TOP, *counts.values()])
    width = SMALL_WIDTH / number
    alarm = number if since_alert is None else since_alert / QUARTER
    bars = [
        _bar(
            (number - 1 - ago) * width,
            width - 1.4,
            SMALL_HEIGHT,
            SMALL_HEIGHT * stories / top,
            "alarm" if ago <= alarm else "",
        )
        for ago, stories in ((ago, counts.get(str(ago), 0)) for ago in reversed(range(number)))
        if stories
    ]
    hours = number // 4
    return Markup(
        '<svg class="small" viewBox="0 0 {} {}" role="img" aria-label="{} stories in the last {} hours">'
        '<line class="base" x1="0" x2="{}" y1="{}" y2="{}"/>{}<text x="0" y="48">{} h ago</text>'
        '<text x="{}" y="48" class="end">now</text></svg>'
    ).format(
        SMALL_WIDTH, SMALL_HEIGHT + 14, sum(counts.values()), hours, SMALL_WIDTH, SMALL_HEIGHT + 0.5, SMALL_HEIGHT + 0.5,
        Markup("").join(bars), hours, SMALL_WIDTH,
    )  # fmt: skip


def curve(counts: Sequence[tuple[datetime, int]], alert: Alert | None, until: datetime) -> Markup:
    """Stories of an event in each quarter hour, with the window in which it broke, and its alert.

    `counts` are stories by the beginning of their quarter hour; the chart ends at `until`.
    """
    if not counts:
        return Markup("")
    first = min(counts[0][0], alert.window_start if alert else counts[0][0])
    last = max(until, counts[-1][0] + QUARTER, alert.at if alert else until)
    start = min(first - 2 * QUARTER, last - LEAST_BARS * QUARTER)
    step = QUARTER * max(1, -(-(last - start) // (QUARTER * MOST_BARS)))
    number = (last - start) // step + 1
    bins = [0] * number
    for at, stories in counts:
        bins[(at - start) // step] += stories
    top, width = max(bins), WIDTH / number

    def x(at: datetime) -> float:
        return (at - start) / step * width

    parts = []
    if alert is not None:
        left, right = x(alert.window_start), x(alert.window_end)
        parts.append(
            Markup('<rect class="window" x="{:.1f}" y="0" width="{:.1f}" height="{}"/>').format(
                left, max(2, right - left), HEIGHT
            )
        )
    parts += [
        _bar(place * width, max(0.8 * width, width - 2), HEIGHT, (HEIGHT - 30) * stories / top, "")
        for place, stories in enumerate(bins)
        if stories
    ]
    if alert is not None:
        mark = x(alert.at)
        right_half = mark > WIDTH * 0.7
        parts.append(
            Markup(
                '<line class="alarm" x1="{0:.1f}" x2="{0:.1f}" y1="-8" y2="{1}"/>'
                '<text class="alarm{2}" x="{3:.1f}" y="-6">alert {4:%H:%M}</text>'
                '<text class="note{2}" x="{3:.1f}" y="11">{5} stories, {6} publishers in the window</text>'
            ).format(
                mark,
                HEIGHT,
                " end" if right_half else "",
                mark + (-5 if right_half else 5),
                alert.at.astimezone(UTC),
                alert.stories,
                alert.publishers,
            )
        )
    parts.append(Markup('<line class="base" x1="0" x2="{0}" y1="{1}" y2="{1}"/>').format(WIDTH, HEIGHT + 0.5))
    parts += [
        Markup('<text class="{}" x="{:.1f}" y="{}">{}</text>').format("below middle", x(at), HEIGHT + 6, text)
        for at, text in _times(start, last)
    ]
    total = sum(bins)
    parts.append(Markup('<text x="0" y="11">{} in {} min</text>').format(top, step // timedelta(minutes=1)))
    longest = "a quarter of an hour" if step == QUARTER else "one step"
    said = f"{total} stories from {_day(first)} to {_day(last)} UTC, at most {top} in {longest}"
    if alert is not None:
        said += f"; the alert came at {_day(alert.at)}, when {alert.stories} stories had come since {_day(alert.window_start)}"
    return Markup('<svg class="curve" viewBox="0 -18 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT + 42, said, Markup("").join(parts)
    )


def gauge(share: float, words: str) -> Markup:
    """A bar that is filled by a share of 1."""
    return Markup(
        '<svg class="gauge" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="whole" width="100" height="4" rx="2"/>'
        '<rect class="part" width="{:.0f}" height="4" rx="2"/></svg>'
    ).format(words, 100 * min(1.0, max(0.0, share)))


def volume(counts: Sequence[tuple[datetime, int, float | None]], words: str) -> Markup:
    """Stories of each hour as bars, with a mark at what is usual."""
    if not counts:
        return Markup("")
    top = max(max(stories, usual or 0) for _, stories, usual in counts) or 1
    width, height = WIDTH / max(24, len(counts)), 110
    parts = [
        _bar(place * width, width - 3, height, (height - 8) * stories / top, "")
        for place, (_, stories, _) in enumerate(counts)
        if stories
    ]
    parts += [
        Markup('<line class="usual" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>').format(
            place * width,
            (place + 1) * width - 3,
            height - (height - 8) * usual / top,
            height - (height - 8) * usual / top,
        )
        for place, (_, _, usual) in enumerate(counts)
        if usual is not None
    ]
    step = max(1, -(-len(counts) // LABELS))
    parts += [
        Markup('<text class="below" x="{:.1f}" y="{}">{:%H:%M}</text>').format(
            place * width, height + 5, at.astimezone(UTC)
        )
        for place, (at, _, _) in enumerate(counts)
        if place % step == 0
    ]
    parts.append(Markup('<line class="base" x1="0" x2="{0}" y1="{1}" y2="{1}"/>').format(WIDTH, height + 0.5))
    return Markup('<svg class="curve" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, height + 22, words, Markup("").join(parts)
    )


def _bar(x: float, width: float, floor: float, height: float, kind: str) -> Markup:
    return Markup('<rect class="bar {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="1"/>').format(
        kind, x, floor - height, width, height
    )


def _times(start: datetime, until: datetime) -> list[tuple[datetime, str]]:
    """Times to write below a chart: whole hours or days."""
    step = next((step for step in _STEPS if (until - start) / step <= LABELS), _STEPS[-1])
    day = start.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    times = [day + number * step for number in range(int((until - day) / step) + 1)]
    margin = (until - start) / 30
    form = "%H:%M" if step < timedelta(days=1) else "%d %b"
    return [
        (at, f"{at:%d %b}" if at.hour == 0 else f"{at:{form}}") for at in times if start + margin < at < until - margin
    ]


def _day(at: datetime) -> str:
    at = at.astimezone(UTC)
    return f"{at.day} {at:%b %H:%M}"
