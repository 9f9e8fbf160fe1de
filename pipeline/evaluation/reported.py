"""What reports rest on: whether the first story of an event is about it, and whether burst scores tell true alerts apart."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from pipeline.evaluation.alerts import Judged, most_common_label
from pipeline.replay import Step
from pipeline.stages.detect.members import unpack


class FirstStories(NamedTuple):
    """Of events with a label, at their last update, how many there are and whose first story has that label."""

    events: int
    first: int
    """... whichever it is"""
    first_near: int
    """... strays left out, as reports do"""


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """The figures; None where there is nothing to measure."""

    first_story: float | None
    """share of events whose first story has the label of the event"""
    first_near_story: float | None
    """the same without strays"""
    burst_auc: float | None
    """probability that a true alert has a higher burst score than a false or repeat alert (area under the ROC curve)"""


def first_stories(steps: Sequence[Step], truth: Mapping[str, str]) -> FirstStories:
    """Compare the first story of each event that was not merged with the label that most of its stories have."""
    ids = {(step.assignment.story.edition, step.assignment.position): step.assignment.story.id for step in steps}
    last = {update.event_id: update for step in steps for update in step.updates}
    events = first = first_near = 0
    for update in last.values():
        stories = sorted(unpack(update.members or b""), key=lambda member: (member.time, member.position))
        named = [ids[update.edition, member.position] for member in stories]
        with_label = [story_id for story_id in named if story_id in truth]
        if update.merged_into is not None or not with_label:
            continue
        label, _ = most_common_label(with_label, truth)
        near = next((place for place, member in enumerate(stories) if not member.is_stray), 0)
        events += 1
        first += truth.get(named[0]) == label
        first_near += truth.get(named[near]) == label
    return FirstStories(events, first, first_near)


def reported(firsts: Sequence[FirstStories], judged: Sequence[Judged]) -> Reported:
    """The figures of several files together."""
    events, first, first_near = map(sum, zip(*firsts, strict=True)) if firsts else (0, 0, 0)
    true = [alert.burst_score for one in judged for alert, _ in one.alerts]
    others = [alert.burst_score for one in judged for alert, _ in [*one.repeats, *one.false]]
    return Reported(
        first_story=round(first / events, 4) if events else None,
        first_near_story=round(first_near / events, 4) if events else None,
        burst_auc=auc(true, others),
    )


def auc(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    """The probability that one of the first is above one of the second; ties count half (Mann and Whitney 1947)."""
    if not higher or not lower:
        return None
    above = sum((one > other) + (one == other) / 2 for one in higher for other in lower)
    return round(above / (len(higher) * len(lower)), 4)
