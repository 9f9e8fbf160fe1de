"""Volume: how many stories an edition usually has at each hour, and how unusual a burst is against that.

Only whole hours within the look-back count: all their stories are still known, so that the volume, too, is a function of
the rows that are kept.
"""

import math

from pipeline.times import HOUR

DAY_HOURS = 24


class Volume:
    """Stories by hour of event time."""

    def __init__(self) -> None:
        self._stories: dict[int, int] = {}
        self._oldest = 0

    def add(self, time: int, horizon: int) -> None:
        """Count a story; hours that the horizon has reached are forgotten."""
        self.forget(horizon)
        if time // HOUR >= self._oldest:
            self._stories[time // HOUR] = self._stories.get(time // HOUR, 0) + 1

    def forget(self, horizon: int) -> None:
        """Forget the hours that the horizon has reached."""
        oldest = horizon // HOUR + 1
        if oldest > self._oldest:
            self._oldest = oldest
            self._stories = {hour: stories for hour, stories in self._stories.items() if hour >= oldest}

    def usual(self, end: int, window: int) -> float:
        """The stories of a window that ends at `end`, by the same hours of the days before; 0 if nothing is known.

        While there is no whole day before, by the mean of the hours before.
        """
        hours = range((end - window) // HOUR, end // HOUR + 1)
        share = window / (len(hours) * HOUR)
        days = [
            [self._stories.get(hour - DAY_HOURS * day, 0) for hour in hours]
            for day in range(1, 15)
            if hours[0] - DAY_HOURS * day >= self._first(hours[0])
        ]
        if days:
            return share * sum(map(sum, days)) / len(days)
        before = [stories for hour, stories in self._stories.items() if hour < hours[0]]
        return window / HOUR * sum(before) / len(before) if before else 0.0

    def before(self, time: int) -> int:
        """The stories of the whole hours before that of `time`."""
        return sum(stories for hour, stories in self._stories.items() if hour < time // HOUR)

    def _first(self, default: int) -> int:
        return min(self._stories, default=default)


def burst_score(stories: float, expected: float) -> float:
    """By how many standard deviations a count of stories exceeds what was expected, if stories came at random (Poisson)."""
    return (stories - expected) / math.sqrt(expected + 1.0)
