"""Evaluate: replay labelled stories and measure clusters (`metrics`) and alerts (`alerts`).

Precision of alerts is true / (true + repeats + false), recall is true / breaking events. Stories without a label, and alerts of
which fewer than half of the stories have one, are counted and are in no other figure.

If the labels have groups, there are also figures on two levels: an alert repeats another only if both are about one group;
clusters should not mix events (precision) and should not divide groups (recall). What the labels leave open is then no mistake.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import msgspec

from pipeline.evaluation.alerts import Judged, judge
from pipeline.evaluation.intervals import Interval, Unit, intervals
from pipeline.evaluation.labels import Labels
from pipeline.evaluation.metrics import (
    Scores,
    adjusted_rand,
    bcubed,
    bcubed_of_items,
    mutual_information,
    pairwise,
    scores,
)
from pipeline.evaluation.misses import Miss, misses
from pipeline.evaluation.reported import FirstStories, Reported, first_stories, reported
from pipeline.records import Fingerprint
from pipeline.replay import Step, replay
from pipeline.stages.rules import ClusterRule, DetectRule
from pipeline.stages.weights import Weights
from pipeline.times import SECOND, to_micros


class Delays(msgspec.Struct, frozen=True, kw_only=True):
    """Delays in seconds: the median, and the least that 90 and 95 of 100 do not exceed. None: infinite, or there are none."""

    median: float | None
    p90: float | None
    p95: float | None


class EventScores(msgspec.Struct, frozen=True, kw_only=True):
    """How the alerts did: `true + duplicates + false + unknown == alerts`; `breaking` is how many labels are breaking events."""

    true: int
    alerts: int
    breaking: int
    precision: float
    recall: float
    f1: float
    duplicates: int
    """repeat alerts"""
    false: int
    unknown: int
    few_publishers: int
    """labels that have enough stories for a breaking event, but too few publishers"""
    median_delay_seconds: float | None
    delays: Delays
    """of the true alerts, from when the event was due; negative for an early one"""
    delays_with_misses: Delays
    """of all breaking events: those without an alert wait for ever"""
    delays_from_first_story: Delays
    """of the true alerts, from the first story of the event"""


class TwoLevelEvents(msgspec.Struct, frozen=True, kw_only=True):
    """The alerts, where an alert is a repeat only if there was one of its group."""

    precision: float
    recall: float
    f1: float
    repeats: int


class TwoLevel(msgspec.Struct, frozen=True, kw_only=True):
    """The measures where labels have groups: B-cubed precision is by event, recall by group."""

    events: TwoLevelEvents
    bcubed: dict[str, float]


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one profile on labelled stories."""

    profile: str
    files: list[str]
    stories: int
    unlabelled: int
    """stories without a label"""
    unused_labels: int
    """labels of stories that did not come"""
    bcubed: dict[str, float]
    pairwise: dict[str, float]
    ari: float
    nmi: float
    events: EventScores
    two_level: TwoLevel | None
    """None where the labels have no groups"""
    reported: Reported
    intervals: dict[str, Interval | None]
    """of some figures, between which they lie in 95 of 100 samples of the events; None where there is nothing to sample"""
    microseconds_per_story: float
    misses: list[Miss] | msgspec.UnsetType = msgspec.UNSET
    """if asked for"""


@dataclass(frozen=True, slots=True)
class Run:
    """What became of the stories of one file."""

    file: str
    stories: int
    unused_labels: int
    seconds: float
    judged: Judged
    clusters: list[str]
    """of each labelled story its cluster ..."""
    events: list[str]
    """... its label ..."""
    groups: list[str]
    """... and its group; empty where there are none"""
    firsts: FirstStories
    misses: list[Miss] | None
    """None where nobody asked for them"""


def evaluate(
    fingerprints: Sequence[tuple[int, Fingerprint]],
    labels: Labels,
    cluster_rule: ClusterRule,
    detect_rule: DetectRule,
    weights: Weights | None = None,
) -> Evaluation:
    """Replay the stories and measure."""
    return summarise(cluster_rule.profile, [run_file("", fingerprints, labels, cluster_rule, detect_rule, weights)])


def run_file(
    file: str,
    fingerprints: Sequence[tuple[int, Fingerprint]],
    labels: Labels,
    cluster_rule: ClusterRule,
    detect_rule: DetectRule,
    weights: Weights | None = None,
    *,
    list_misses: bool = False,
) -> Run:
    """Replay the stories of one file, and note what became of them."""
    begin = time.perf_counter()
    steps = list(replay(fingerprints, cluster_rule, detect_rule, weights))
    seconds = time.perf_counter() - begin
    final = final_clusters(steps)
    judged = judge(steps, labels, detect_rule)
    came = [story_id for story_id in final if story_id in labels.events]
    return Run(
        file=file,
        stories=len(steps),
        unused_labels=len(labels.events) - len(came),
        seconds=seconds,
        judged=judged,
        clusters=[final[story_id] for story_id in came],
        events=[labels.events[story_id] for story_id in came],
        groups=[labels.groups[story_id] for story_id in came] if labels.groups else [],
        firsts=first_stories(steps, labels.events),
        misses=misses(steps, labels.events, final, judged, detect_rule) if list_misses else None,
    )


def summarise(profile: str, runs: Sequence[Run]) -> Evaluation:
    """The figures of these runs together; each file has clusters and labels of its own."""
    clusters, events, groups = (
        _apart([getattr(run, part) for run in runs]) for part in ("clusters", "events", "groups")
    )
    judged = [run.judged for run in runs]
    asked = [run.misses for run in runs if run.misses is not None]
    stories = sum(run.stories for run in runs)
    return Evaluation(
        profile=profile,
        files=[run.file for run in runs],
        stories=stories,
        unlabelled=stories - len(events),
        unused_labels=sum(run.unused_labels for run in runs),
        bcubed=_rounded(bcubed(clusters, events)),
        pairwise=_rounded(pairwise(clusters, events)),
        ari=round(adjusted_rand(clusters, events), 4),
        nmi=round(mutual_information(clusters, events), 4),
        events=_events(judged),
        two_level=_two_level(judged, bcubed(clusters, events, groups)) if groups else None,
        reported=reported([run.firsts for run in runs], judged),
        intervals=intervals(_units(judged, clusters, events, groups or events), two_level=bool(groups)),
        microseconds_per_story=round(1e6 * sum(run.seconds for run in runs) / max(1, stories), 1),
        misses=[miss for listed in asked for miss in listed] if asked else msgspec.UNSET,
    )


def _apart(names: Sequence[list[str]]) -> list[str]:
    """The names of all files, those of each unlike those of the others."""
    return [f"{number} {name}" for number, of_file in enumerate(names) for name in of_file]


def final_clusters(steps: Sequence[Step]) -> dict[str, str]:
    """The cluster that each story is in at the end."""
    merged = {state.id: state.merged_into for step in steps for state in step.clusters if state.merged_into}

    def survivor(cluster_id: str) -> str:
        while cluster_id in merged:
            cluster_id = merged[cluster_id]
        return cluster_id

    return {step.assignment.story.id: survivor(step.assignment.cluster_id) for step in steps}


def alert_scores(judged: Judged) -> Scores:
    """Precision and recall of the alerts."""
    return _alert_scores([judged], len(judged.alerts))


def _alert_scores(judged: Sequence[Judged], right: int) -> Scores:
    """With so many alerts that are neither false nor repeated."""
    alerts = sum(len(one.alerts) + len(one.repeats) + len(one.false) for one in judged)
    found, due = sum(len(one.alerts) for one in judged), sum(len(one.due) for one in judged)
    return scores(right / alerts if alerts else 0.0, found / due if due else 0.0)


def _events(judged: Sequence[Judged]) -> EventScores:
    true, repeats, false = (
        sum(map(len, alerts)) for alerts in zip(*((one.alerts, one.repeats, one.false) for one in judged), strict=True)
    )
    unknown, due = sum(len(one.unknown) for one in judged), sum(len(one.due) for one in judged)
    found = [(to_micros(alert.at), one.due[label]) for one in judged for alert, label in one.alerts]
    delays = [(at - due.at) / SECOND for at, due in found]
    return EventScores(
        true=true,
        alerts=true + repeats + false + unknown,
        breaking=due,
        **_rounded(_alert_scores(judged, true)),
        duplicates=repeats,
        false=false,
        unknown=unknown,
        few_publishers=sum(one.few_publishers for one in judged),
        median_delay_seconds=round(median(delays), 1) if delays else None,
        delays=_delays(delays),
        delays_with_misses=_delays([*delays, *[math.inf] * (due - true)]),
        delays_from_first_story=_delays([(at - due.first) / SECOND for at, due in found]),
    )


def _two_level(judged: Sequence[Judged], clusters: Scores) -> TwoLevel:
    repeats = sum(one.repeats_of_group.total() for one in judged)
    right = sum(len(one.alerts) + len(one.repeats) for one in judged) - repeats
    alerts = _rounded(_alert_scores(judged, right))
    return TwoLevel(events=TwoLevelEvents(**alerts, repeats=repeats), bcubed=_rounded(clusters))


def _delays(seconds: Sequence[float]) -> Delays:
    ordered = sorted(seconds)

    def least(share: float) -> float | None:
        """The least that so large a share does not exceed."""
        value = ordered[math.ceil(share * len(ordered)) - 1] if ordered else math.inf
        return round(value, 1) if math.isfinite(value) else None

    middle = median(ordered) if ordered else math.inf
    return Delays(median=round(middle, 1) if math.isfinite(middle) else None, p90=least(0.9), p95=least(0.95))


def _units(
    judged: Sequence[Judged], clusters: Sequence[str], events: Sequence[str], groups: Sequence[str]
) -> list[Unit]:
    """What each event adds to the figures."""
    sums: dict[str, list[float]] = {}

    def add(label: str, *values: float, at: int = 0) -> None:
        unit = sums.setdefault(label, [0.0] * len(Unit._fields))
        for place, value in enumerate(values, at):
            unit[place] += value

    of_items = zip(
        events, *bcubed_of_items(clusters, events), bcubed_of_items(clusters, events, groups).recall, strict=True
    )
    for label, precision, recall, group_recall in of_items:
        add(label, 1, precision, recall, group_recall)
    alerts = Unit._fields.index("breaking")
    for number, one in enumerate(judged):
        for label in one.due:
            add(f"{number} {label}", 1, at=alerts)
        for _, label in one.alerts:
            add(f"{number} {label}", 0, 1, 1, 1, at=alerts)
        for _, label in one.repeats:
            add(f"{number} {label}", 0, 0, 1, 1, at=alerts)
        for label, repeats in one.repeats_of_group.items():
            add(f"{number} {label}", 0, 0, 0, -repeats, at=alerts)
        for alert, own in one.false:
            add(f"{number} {own}" if own else f"{number} false {alert.event_id}", 0, 0, 1, at=alerts)
    return [Unit(*values) for values in sums.values()]


def _rounded(values: Scores) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values._asdict().items()}
