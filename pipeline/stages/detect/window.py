"""The rule of a breaking event: more stories than the threshold, of enough publishers, within a window."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping

from pipeline.stages.rules import DetectRule


def may_break(stories: int, publishers: Mapping[str, list[int]], time: int, rule: DetectRule) -> bool:
    """Whether a window of a cluster that holds a story of `time` can break: False where none has enough publishers.

    `stories` is how many stories the cluster has, `publishers` the times of each publisher's, ascending.

    Of a publisher's stories only the last one up to `time`, at a, and the first one after it, at b, matter: windows that start
    up to a or from b - window on have the publisher. So this costs as many steps as there are publishers, not stories.

        window starts   t - window |=====a......b - window=====| t
    """
    if stories <= rule.threshold or len(publishers) < rule.min_publishers:
        return False
    if rule.min_publishers == 1:
        return True
    everywhere, changes = 0, list[tuple[int, int]]()
    for times in publishers.values():
        after = bisect_right(times, time)
        a = times[after - 1] if after else time - rule.window - 1
        b = times[after] - rule.window if after < len(times) else time + 1
        if a >= b - 1 or a >= time:
            everywhere += 1
            continue
        if a >= time - rule.window:
            everywhere += 1
            changes.append((a + 1, -1))
        if b <= time:
            changes.append((b, 1))
    most = here = everywhere
    for _, change in sorted(changes):
        here += change
        most = max(most, here)
    return most >= rule.min_publishers


def breaking_window(times: list[int], publishers: list[str], new: int, rule: DetectRule) -> tuple[int, int] | None:
    """The fullest window that holds the story at index `new` and breaks, as (first, last + 1); None if none breaks.

    `times` ascend. A window holds the stories of `rule.window`, both ends included. Of equally full ones the earliest.
    """
    best: tuple[int, int] | None = None
    start = bisect_left(times, times[new] - rule.window)
    stop = start
    inside: Counter[str] = Counter()
    for first in range(start, new + 1):
        while stop < len(times) and times[stop] - times[first] <= rule.window:
            inside[publishers[stop]] += 1
            stop += 1
        breaks = stop - first > rule.threshold and len(inside) >= rule.min_publishers
        if breaks and (best is None or stop - first > best[1] - best[0]):
            best = (first, stop)
        inside[publishers[first]] -= 1
        if not inside[publishers[first]]:
            del inside[publishers[first]]
    return best
