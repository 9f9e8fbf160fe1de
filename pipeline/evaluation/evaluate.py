"""Evaluate: replay labelled stories and measure clusters and alerts.

A label is a *breaking event* when more than the threshold of its stories lie within some window; it is due at its first such
story. An alert (the first update of an event) is *true* when at least half of the stories in its window have one label, and that
label is a breaking event; a second true alert of the same label is a *duplicate*. Precision is true / alerts, recall is true /
breaking events. The delay of a true alert is its stream time less the time it was due; it is negative for an early one.
"""

import csv
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import msgspec

from pipeline.evaluation.metrics import Scores, bcubed, pairwise, scores
from pipeline.records import EventUpdate, Fingerprint, InvalidRecord
from pipeline.replay import Step, replay
from pipeline.stages.clustering import ClusterRule
from pipeline.stages.counting import DetectRule
from pipeline.times import SECOND, to_micros


class EventScores(msgspec.Struct, frozen=True, kw_only=True):
    """How the alerts did: `true + duplicates + false == alerts`; `breaking` is how many labels are breaking events."""

    true: int
    alerts: int
    breaking: int
    precision: float
    recall: float
    f1: float
    duplicates: int
    false: int
    median_delay_seconds: float | None


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one profile on one labelled file."""

    profile: str
    stories: int
    bcubed: dict[str, float]
    pairwise: dict[str, float]
    events: EventScores
    microseconds_per_story: float


def read_truth(path: str) -> dict[str, str]:
    """Labels from a CSV file with the columns `story_id` and `event`. Raises InvalidRecord and OSError."""
    with Path(path).open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines)
        if not {"story_id", "event"} <= set(rows.fieldnames or ()):
            raise InvalidRecord(
                f"{path}: its first line should name the columns story_id and event; it is {rows.fieldnames}."
            )
        return {row["story_id"]: row["event"] for row in rows}


def evaluate(
    fingerprints: Sequence[tuple[int, Fingerprint]],
    truth: Mapping[str, str],
    cluster_rule: ClusterRule,
    detect_rule: DetectRule,
    profile: str = "newsburst",
) -> Evaluation:
    """Replay the stories and measure; stories without a label are replayed and left out of the measures."""
    begin = time.perf_counter()
    steps = list(replay(fingerprints, cluster_rule, detect_rule))
    seconds = time.perf_counter() - begin
    merged = {state.id: state.merged_into for step in steps for state in step.clusters if state.merged_into}
    labelled = [step for step in steps if step.assignment.story.id in truth]
    labels = [truth[step.assignment.story.id] for step in labelled]
    clusters = [_survivor(merged, step.assignment.cluster_id) for step in labelled]
    return Evaluation(
        profile=profile,
        stories=len(steps),
        bcubed=_rounded(bcubed(clusters, labels)),
        pairwise=_rounded(pairwise(clusters, labels)),
        events=_events(steps, truth, detect_rule),
        microseconds_per_story=round(1e6 * seconds / max(1, len(steps)), 1),
    )


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


def _events(steps: Sequence[Step], truth: Mapping[str, str], rule: DetectRule) -> EventScores:
    times: dict[str, list[int]] = {}
    for step in steps:
        story = step.assignment.story
        if story.id in truth:
            times.setdefault(truth[story.id], []).append(to_micros(story.crawled_at))
    due = breaking_labels(times, rule)
    alerts = [update for step in steps for update in step.updates if update.sequence == 1]
    delays: dict[str, float] = {}
    duplicates = 0
    for alert in alerts:
        label = _label(alert, truth)
        if label not in due:
            continue
        if label in delays:
            duplicates += 1
        else:
            delays[label] = (to_micros(alert.at) - due[label]) / SECOND
    found = scores(len(delays) / len(alerts) if alerts else 0.0, len(delays) / len(due) if due else 0.0)
    return EventScores(
        true=len(delays),
        alerts=len(alerts),
        breaking=len(due),
        **_rounded(found),
        duplicates=duplicates,
        false=len(alerts) - len(delays) - duplicates,
        median_delay_seconds=round(median(delays.values()), 1) if delays else None,
    )


def _label(alert: EventUpdate, truth: Mapping[str, str]) -> str | None:
    """The label that at least half of the stories in the alert's window have; None if no label has."""
    counts = Counter(truth[story.id] for story in alert.stories if story.id in truth)
    if not counts:
        return None
    label, count = counts.most_common(1)[0]
    return label if 2 * count >= len(alert.stories) else None


def _survivor(merged: Mapping[str, str], cluster_id: str) -> str:
    while cluster_id in merged:
        cluster_id = merged[cluster_id]
    return cluster_id


def _rounded(values: Scores) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values._asdict().items()}
