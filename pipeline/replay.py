"""Replay: the same pure stages without Kafka, story after story.

For equal order it gives what the agents give, so it is the engine of evaluation and the measure of the reliability tests.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from pipeline.languages.background import background
from pipeline.languages.codes import language_of
from pipeline.records import (
    Amended,
    Amendment,
    Assignment,
    Cluster,
    EventUpdate,
    Fingerprint,
    Story,
    StreamTime,
    Tick,
)
from pipeline.stages.cluster.amend import amend
from pipeline.stages.cluster.stage import cluster, tick_clusters
from pipeline.stages.cluster.state import ClusterState
from pipeline.stages.detect.amend import amend_events
from pipeline.stages.detect.stage import detect, tick_events
from pipeline.stages.detect.state import DetectState
from pipeline.stages.edition_rules import RuleOf
from pipeline.stages.fingerprint import fingerprint
from pipeline.stages.normalise import RULE as NORMALISE_RULE
from pipeline.stages.normalise import normalise
from pipeline.stages.observer import DecisionObserver
from pipeline.stages.rules import ClusterRule, DetectRule, NormaliseRule
from pipeline.stages.weights import Weights


@dataclass(frozen=True, slots=True)
class Step:
    """What one story brought."""

    assignment: Assignment
    clusters: list[Cluster]
    updates: list[EventUpdate]


@dataclass(frozen=True, slots=True)
class TimeStep:
    """What one tick brought."""

    passed: StreamTime
    updates: list[EventUpdate]


@dataclass(frozen=True, slots=True)
class AmendmentStep:
    """What one amendment brought."""

    amended: Amended
    clusters: list[Cluster]
    updates: list[EventUpdate]


def replay(
    fingerprints: Iterable[tuple[int, Fingerprint]],
    cluster_rule: ClusterRule | None = None,
    detect_rule: DetectRule | RuleOf | None = None,
    weights: Weights | None = None,
    observer: DecisionObserver | None = None,
) -> Iterator[Step]:
    """Cluster and detect over (position, fingerprint) in log order; repeated stories bring no step."""
    for step in replay_log(fingerprints, cluster_rule, detect_rule, weights, observer):
        assert isinstance(step, Step)
        yield step


def replay_log(
    log: Iterable[tuple[int, Fingerprint | Tick | Amendment]],
    cluster_rule: ClusterRule | None = None,
    detect_rule: DetectRule | RuleOf | None = None,
    weights: Weights | None = None,
    observer: DecisionObserver | None = None,
) -> Iterator[Step | TimeStep | AmendmentStep]:
    """The same over a log that has ticks and amendments in it."""
    cluster_states: dict[str, ClusterState] = {}
    detect_states: dict[str, DetectState] = {}
    for position, record in log:
        if isinstance(record, Tick):
            of = cluster_states.get(record.edition)
            passed = of and tick_clusters(of, record, position)
            if passed:
                ended = tick_events(detect_states[record.edition], passed.stream_time)
                yield TimeStep(passed.stream_time, ended.updates if ended else [])
            continue
        if isinstance(record, Amendment):
            of = cluster_states.get(record.edition)
            amended = of and amend(of, record, position)
            if amended:
                followed = amend_events(detect_states[record.edition], amended.amended)
                yield AmendmentStep(amended.amended, amended.clusters, followed.updates if followed else [])
            continue
        edition = record.story.edition
        if edition not in cluster_states:
            cluster_states[edition] = ClusterState(background(language_of(edition)), cluster_rule, weights, observer)
            own_rule = detect_rule(edition) if callable(detect_rule) else detect_rule
            detect_states[edition] = DetectState(own_rule, weights, observer)
        clustered = cluster(cluster_states[edition], record, position)
        if clustered is None:
            continue
        detected = detect(detect_states[edition], clustered.assignment)
        yield Step(clustered.assignment, clustered.clusters, detected.updates if detected else [])


def fingerprints(
    stories: Iterable[Story], received_at: datetime, rule: NormaliseRule = NORMALISE_RULE
) -> Iterator[tuple[int, Fingerprint]]:
    """Normalise and fingerprint stories; their positions are their numbers from 0. Raises InvalidRecord."""
    for position, story in enumerate(stories):
        yield position, fingerprint(normalise(story, received_at, rule))
