"""Misses: each breaking event without an alert, each repeat alert, each false one, with its headlines and why."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from pipeline.evaluation.alerts import Judged
from pipeline.replay import Step
from pipeline.stages.rules import DetectRule
from pipeline.times import to_micros

HEADLINES = 3


class Miss(msgspec.Struct, frozen=True, kw_only=True):
    """An event or an alert that is not as it should have been."""

    kind: str
    """missed, duplicate or false"""
    event: str | None
    """the label"""
    reason: str
    stories: int
    headlines: list[str]


def misses(
    steps: Sequence[Step],
    truth: Mapping[str, str],
    clusters: Mapping[str, str],
    judged: Judged,
    rule: DetectRule,
) -> list[Miss]:
    """What went wrong; `clusters` names the final cluster of each story.

    A missed event was *absorbed* when the cluster of most of its stories reported another event, *split* when its stories
    lie in several clusters none of which has enough, *held back* when one cluster had enough and did not break, and *below
    the rule* when that had too few publishers.
    """
    stories = {step.assignment.story.id: step.assignment.story for step in steps}
    members: dict[str, list[str]] = {}
    for story_id in stories:
        if story_id in truth:
            members.setdefault(truth[story_id], []).append(story_id)
    reported = {clusters[story.id] for alert, _ in judged.alerts for story in alert.stories}
    found = {label for _, label in judged.alerts}
    result: list[Miss] = []
    for label in judged.due:
        if label in found:
            continue
        own = members[label]
        most, count = Counter(clusters[story_id] for story_id in own).most_common(1)[0]
        inside = [stories[story_id] for story_id in own if clusters[story_id] == most]
        fullest = _fullest([to_micros(story.crawled_at) for story in inside], rule.window)
        if most in reported:
            reason = f"absorbed: {count} of its {len(own)} stories are in a cluster that told of another event"
        elif fullest <= rule.threshold:
            spread = len({clusters[story_id] for story_id in own})
            reason = f"split: {len(own)} stories in {spread} clusters, at most {fullest} of one within the window"
        elif len({story.family for story in inside}) < rule.min_publishers:
            reason = f"below the rule: fewer than {rule.min_publishers} publishers"
        else:
            reason = f"held back: {fullest} stories of one cluster within the window"
        result.append(_miss("missed", label, reason, [stories[story_id].title for story_id in own]))
    for alert, label in judged.repeats:
        first = next(other for other, known in judged.alerts if known == label)
        cluster = clusters[alert.stories[0].id] == clusters[first.stories[0].id]
        reason = "split: a second burst of one cluster" if cluster else "split: the event is in two clusters"
        result.append(_miss("duplicate", label, reason, [story.title for story in alert.stories]))
    for alert, own_label in judged.false:
        reason = (
            "below the rule: the label does not break by itself" if own_label else "no label has half of its stories"
        )
        result.append(_miss("false", own_label, reason, [story.title for story in alert.stories]))
    return result


def _miss(kind: str, event: str | None, reason: str, titles: list[str]) -> Miss:
    return Miss(kind=kind, event=event, reason=reason, stories=len(titles), headlines=titles[:HEADLINES])


def _fullest(times: list[int], window: int) -> int:
    """The most stories within a window."""
    times.sort()
    first = most = 0
    for last, time in enumerate(times):
        while time - times[first] > window:
            first += 1
        most = max(most, last - first + 1)
    return most
