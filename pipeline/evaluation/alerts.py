"""Alerts judged by labels.

A label is a *breaking event* when some window holds more of its stories than the threshold, from enough publishers: when the rule
would find an event in a cluster of just its stories. It is due when the story comes with which it first meets the rule.

An alert (the first update of an event) has the label that at least half of the labelled stories in its window have. It is *true*
when that label is a breaking event; a second one is a *repeat alert*. An alert of which fewer than half of the stories have a
label is *unknown*. On two levels it is a repeat only if there was an alert of its *group*, that of most of its stories.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pipeline.evaluation.labels import Labels
from pipeline.records import EventUpdate
from pipeline.replay import Step
from pipeline.stages.rules import DetectRule
from pipeline.times import to_micros


class Due(NamedTuple):
    """When a breaking event was due, and when its first story came, in microseconds."""

    at: int
    first: int


@dataclass(slots=True)
class Judged:
    """Alerts by what they are worth, each with its label."""

    due: dict[str, Due]
    """of each breaking event"""
    few_publishers: int
    """labels with enough stories in a window that too few publishers wrote: they cannot break"""
    alerts: list[tuple[EventUpdate, str]] = field(default_factory=list)
    """the true ones: the first of each breaking event"""
    repeats: list[tuple[EventUpdate, str]] = field(default_factory=list)
    false: list[tuple[EventUpdate, str | None]] = field(default_factory=list)
    unknown: list[EventUpdate] = field(default_factory=list)
    repeats_of_group: Counter[str] = field(default_factory=Counter)
    """of the repeat alerts of each label, those whose group had an alert before"""


def judge(steps: Sequence[Step], labels: Labels, rule: DetectRule) -> Judged:
    """Judge the alerts of a replay."""
    truth, groups = labels
    stories: dict[str, list[tuple[int, str]]] = {}
    for step in steps:
        story = step.assignment.story
        if story.id in truth and not step.assignment.revision:
            stories.setdefault(truth[story.id], []).append((to_micros(story.crawled_at), story.family))
    due, few_publishers = breaking_labels(stories, rule)
    judged = Judged(due, few_publishers)
    known: dict[str, set[str | None]] = {}
    for alert in (update for step in steps for update in step.updates if update.sequence == 1):
        ids = [story.id for story in alert.stories]
        with_label = [story_id for story_id in ids if story_id in truth]
        if not with_label or 2 * len(with_label) < len(ids):
            judged.unknown.append(alert)
            continue
        label, count = most_common_label(with_label, truth)
        if label is None or label not in due or 2 * count < len(with_label):
            judged.false.append((alert, label if 2 * count >= len(with_label) else None))
            continue
        group, _ = most_common_label([story_id for story_id in ids if truth.get(story_id) == label], groups)
        if label not in known:
            judged.alerts.append((alert, label))
        else:
            judged.repeats.append((alert, label))
            judged.repeats_of_group[label] += group in known[label]
        known.setdefault(label, set()).add(group)
    return judged


def breaking_labels(stories: Mapping[str, Iterable[tuple[int, str]]], rule: DetectRule) -> tuple[dict[str, Due], int]:
    """The labels that are breaking events, and how many have enough stories by too few publishers.

    `stories` holds the time (microseconds) and the publisher family of each story of a label.
    """
    due: dict[str, Due] = {}
    few_publishers = 0
    for label, unsorted in stories.items():
        ordered = sorted(unsorted)
        families: Counter[str] = Counter()
        low, enough = 0, False
        for high, (time, family) in enumerate(ordered):
            families[family] += 1
            while ordered[low][0] < time - rule.window:
                families[ordered[low][1]] -= 1
                low += 1
            if high - low < rule.threshold:
                continue
            enough = True
            if len(+families) >= rule.min_publishers:
                due[label] = Due(time, ordered[0][0])
                break
        few_publishers += enough and label not in due
    return due, few_publishers


def most_common_label(story_ids: Iterable[str], truth: Mapping[str, str]) -> tuple[str | None, int]:
    """The label that most of these stories have, and how many have it; (None, 0) if none has a label."""
    counts = Counter(truth[story_id] for story_id in story_ids if story_id in truth)
    return counts.most_common(1)[0] if counts else (None, 0)
