"""Evaluate: replay labelled stories and measure clusters (`metrics`) and alerts (`alerts`).

Precision of alerts is true / alerts, recall is true / breaking events. The delay of a true alert is its stream time less the
time its event was due; it is negative for an early one.
"""

import csv
import gzip
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import msgspec

from pipeline.codec import InvalidRecord
from pipeline.evaluation.alerts import Judged, judge
from pipeline.evaluation.metrics import Scores, adjusted_rand, bcubed, mutual_information, pairwise, scores
from pipeline.evaluation.misses import Miss, misses
from pipeline.records import Fingerprint
from pipeline.replay import Step, replay
from pipeline.stages.rules import ClusterRule, DetectRule
from pipeline.stages.weights import Weights
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
    ari: float
    nmi: float
    events: EventScores
    microseconds_per_story: float
    misses: list[Miss] | msgspec.UnsetType = msgspec.UNSET
    """if asked for"""


def read_truth(path: str) -> dict[str, str]:
    """Labels from a CSV file with the columns `story_id` and `event`. Raises InvalidRecord and OSError."""
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8-sig", newline="")
            if _is_gzip(path)
            else Path(path).open(encoding="utf-8-sig", newline="") as lines
        ):
            rows = csv.DictReader(lines)
            if not {"story_id", "event"} <= set(rows.fieldnames or ()):
                raise InvalidRecord(
                    f"{path}: its first line should name the columns story_id and event; it is {rows.fieldnames}."
                )
            return {row["story_id"]: row["event"] for row in rows if row["event"]}
    except (UnicodeDecodeError, csv.Error, EOFError, zlib.error) as error:
        raise InvalidRecord(f"{path} is no CSV file in UTF-8: {error}.") from None


def _is_gzip(path: str) -> bool:
    with Path(path).open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def evaluate(
    fingerprints: Sequence[tuple[int, Fingerprint]],
    truth: Mapping[str, str],
    cluster_rule: ClusterRule,
    detect_rule: DetectRule,
    weights: Weights | None = None,
    *,
    list_misses: bool = False,
) -> Evaluation:
    """Replay the stories and measure; stories without a label are replayed and left out of the measures of clusters."""
    begin = time.perf_counter()
    steps = list(replay(fingerprints, cluster_rule, detect_rule, weights))
    seconds = time.perf_counter() - begin
    clusters = final_clusters(steps)
    found, labels = labelled(steps, clusters, truth)
    judged = judge(steps, truth, detect_rule)
    return Evaluation(
        profile=cluster_rule.profile,
        stories=len(steps),
        bcubed=_rounded(bcubed(found, labels)),
        pairwise=_rounded(pairwise(found, labels)),
        ari=round(adjusted_rand(found, labels), 4),
        nmi=round(mutual_information(found, labels), 4),
        events=_events(judged),
        microseconds_per_story=round(1e6 * seconds / max(1, len(steps)), 1),
        misses=misses(steps, truth, clusters, judged, detect_rule) if list_misses else msgspec.UNSET,
    )


def final_clusters(steps: Sequence[Step]) -> dict[str, str]:
    """The cluster that each story is in at the end."""
    merged = {state.id: state.merged_into for step in steps for state in step.clusters if state.merged_into}

    def survivor(cluster_id: str) -> str:
        while cluster_id in merged:
            cluster_id = merged[cluster_id]
        return cluster_id

    return {step.assignment.story.id: survivor(step.assignment.cluster_id) for step in steps}


def labelled(
    steps: Sequence[Step], clusters: Mapping[str, str], truth: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """The clusters and the labels of the stories that have a label, in one order."""
    rows = [step.assignment for step in steps if not step.assignment.revision]
    stories = [row.story.id for row in rows if row.story.id in truth]
    return [clusters[story_id] for story_id in stories], [truth[story_id] for story_id in stories]


def alert_scores(judged: Judged) -> Scores:
    """Precision and recall of the alerts."""
    true, due = len(judged.alerts), len(judged.due)
    alerts = true + len(judged.duplicates) + len(judged.false)
    return scores(true / alerts if alerts else 0.0, true / due if due else 0.0)


def _events(judged: Judged) -> EventScores:
    true, duplicates, false = len(judged.alerts), len(judged.duplicates), len(judged.false)
    due = judged.due
    delays = [(to_micros(alert.at) - due[label]) / SECOND for alert, label in judged.alerts]
    return EventScores(
        true=true,
        alerts=true + duplicates + false,
        breaking=len(due),
        **_rounded(alert_scores(judged)),
        duplicates=duplicates,
        false=false,
        median_delay_seconds=round(median(delays), 1) if delays else None,
    )


def _rounded(values: Scores) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values._asdict().items()}
