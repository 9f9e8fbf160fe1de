"""Alerts judged by labels.

A label is a *breaking event* when more than the threshold of its stories lie within some window; it is due at its first such
story. An alert (the first update of an event) is *true* when at least half of the stories in its window have one label, and
that label is a breaking event; a second true alert of the same label is a *duplicate*.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.records import EventUpdate
from pipeline.replay import Step
from pipeline.stages.rules import DetectRule
from pipeline.times import to_micros


@dataclass(slots=True)
class Judged:
    """Alerts by what they are worth, each with its label."""

    due: dict[str, int]
    """when each breaking event was due, in microseconds"""
    alerts: list[tuple[EventUpdate, str]] = field(default_factory=list)
    """the true ones: the first of each breaking event"""
    duplicates: list[tuple[EventUpdate, str]] = field(default_factory=list)
    false: list[tuple[EventUpdate, str | None]] = field(default_factory=list)


def judge(steps: Sequence[Step], truth: Mapping[str, str], rule: DetectRule) -> Judged:
    """Judge the alerts of a replay; stories without a label count against an alert, not against a label."""
    times: dict[str, list[int]] = {}
    for step in steps:
        story = step.assignment.story
        if story.id in truth and not step.assignment.revision:
            times.setdefault(truth[story.id], []).append(to_micros(story.crawled_at))
    judged = Judged(breaking_labels(times, rule))
    known: set[str] = set()
    for alert in (update for step in steps for update in step.updates if update.sequence == 1):
        label = _label(alert, truth)
        if label is None or label not in judged.due:
            judged.false.append((alert, label))
        elif label in known:
            judged.duplicates.append((alert, label))
        else:
            known.add(label)
            judged.alerts.append((alert, label))
    return judged


def breaking_labels(times: Mapping[str, Sequence[int]], rule: DetectRule) -> dict[str, int]:
    """The labels that are breaking events, each with the time (microseconds) at which it was due."""
    due: dict[str, int] = {}
    for label, unsorted in times.items():
        ordered = sorted(unsorted)
        for first, last in zip(ordered, ordered[rule.threshold :], strict=False):
            if last - first <= rule.window:
                due[label] = last
                break
    return due


def most_common_label(story_ids: Sequence[str], truth: Mapping[str, str]) -> tuple[str | None, int]:
    """The label that most of these stories have, and how many have it; (None, 0) if none has a label."""
    counts = Counter(truth[story_id] for story_id in story_ids if story_id in truth)
    return counts.most_common(1)[0] if counts else (None, 0)


def _label(alert: EventUpdate, truth: Mapping[str, str]) -> str | None:
    """The label that at least half of the stories in the alert's window have; None if no label has."""
    label, count = most_common_label([story.id for story in alert.stories], truth)
    return label if 2 * count >= len(alert.stories) else None
