"""Fit: learn the weights of the scores from labelled stories.

The stories are replayed, and each decision that a score had to make is noted with its features and with what the labels say
should have been decided; logistic regression on these gives new weights. Other weights bring other decisions, so this is
repeated, on the decisions of all rounds together (DAgger: Ross, Gordon and Bagnell 2011). The figures of single rounds differ
by chance; the mean of the weights of all rounds but the first does as well as the best of them, and better on other stories.
Nothing is random: the same stories give the same weights.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.codec import InvalidRecord
from pipeline.evaluation.alerts import judge, most_common_label
from pipeline.evaluation.evaluate import alert_scores, final_clusters
from pipeline.evaluation.labels import Labels
from pipeline.evaluation.metrics import bcubed
from pipeline.records import Fingerprint
from pipeline.replay import replay
from pipeline.stages.rules import ClusterRule, DetectRule
from pipeline.stages.weights import JoinWeights, MergeWeights, RenewWeights, Weights

ROUNDS = 5
REGULARISATION = 1.0
"""Weight of the squared (standardised) weights in what is minimised."""
MIN_EXAMPLES = 50
"""Decisions of each kind, and of each answer, that a score can be learned from."""


class Stream(NamedTuple):
    """Labelled stories in order."""

    fingerprints: Sequence[tuple[int, Fingerprint]]
    labels: Labels


class Round(NamedTuple):
    """How weights did on the stories: B-cubed F1 and event F1, the mean over the streams."""

    weights: Weights
    bcubed: float
    events: float


@dataclass(slots=True)
class Decisions:
    """What one score had to decide: features, and the right answers."""

    features: list[Sequence[float]] = field(default_factory=list)
    answers: list[bool] = field(default_factory=list)

    def add(self, features: Sequence[float], *, answer: bool) -> None:
        """Note one."""
        self.features.append(features)
        self.answers.append(answer)

    @property
    def enough(self) -> bool:
        """Whether there are enough right and wrong ones to learn from."""
        right = sum(self.answers)
        return min(right, len(self.answers) - right) >= MIN_EXAMPLES


class LabelledObserver:
    """Notes each decision with the answer that the labels give: those of most stories on both sides are equal, or not.

    Where there is no label on one side, there is no answer.
    """

    def __init__(self, truth: Mapping[str, str]) -> None:
        self._truth = truth
        self.joins, self.merges, self.renewals = Decisions(), Decisions(), Decisions()

    def join(self, story_id: str, members: Sequence[str], features: Sequence[float]) -> None:
        """Does the story belong to the cluster of these stories?"""
        label, (other, _) = self._truth.get(story_id), most_common_label(members, self._truth)
        if label is not None and other is not None:
            self.joins.add(features, answer=other == label)

    def merge(self, larger: Sequence[str], smaller: Sequence[str], features: Sequence[float]) -> None:
        """Are the clusters of these stories one?"""
        (label, _), (other, _) = (most_common_label(side, self._truth) for side in (larger, smaller))
        if label is not None and other is not None:
            self.merges.add(features, answer=other == label)

    def renew(self, earlier: Sequence[str], new: Sequence[str], features: Sequence[float]) -> None:
        """Is the new burst of a cluster about another event than the earlier one?"""
        (label, count), (other, _) = (most_common_label(side, self._truth) for side in (new, earlier))
        if label is not None and other is not None:
            self.renewals.add(features, answer=label != other and 2 * count >= len(new))


def fit(
    streams: Sequence[Stream],
    start: Weights,
    cluster_rule: ClusterRule,
    detect_rule: DetectRule,
    rounds: int = ROUNDS,
    progress: Callable[[Round], None] = lambda _: None,
) -> Round:
    """The mean of the weights of all rounds but the first, and how it does.

    `progress` is called with each round, the first with `start`, the last with the result. Raises InvalidRecord when the labels
    are too few to learn from.
    """
    decisions = Decisions(), Decisions(), Decisions()
    weights, learned = start, list[Weights]()
    for _ in range(rounds):
        result, observers = _measure(streams, weights, cluster_rule, detect_rule)
        progress(result)
        for observer in observers:
            for all_, new in zip(decisions, (observer.joins, observer.merges, observer.renewals), strict=True):
                all_.features += new.features
                all_.answers += new.answers
        weights = Weights(
            JoinWeights(*_learned("joins", decisions[0])),
            JoinWeights(*_learned("joins", _without_capitals(decisions[0]))),
            MergeWeights(*_learned("merges", decisions[1])),
            # Renewals are rare: with too few to learn from, the weights stay.
            RenewWeights(*_learned("renewals", decisions[2])) if decisions[2].enough else start.renew,
        )
        learned.append(weights)
    settled = learned[1:] or learned
    mean = Weights(
        JoinWeights(*np.mean([weights.join for weights in settled], axis=0).round(4).tolist()),
        JoinWeights(*np.mean([weights.caseless for weights in settled], axis=0).round(4).tolist()),
        MergeWeights(*np.mean([weights.merge for weights in settled], axis=0).round(4).tolist()),
        RenewWeights(*np.mean([weights.renew for weights in settled], axis=0).round(4).tolist()),
    )
    result, _ = _measure(streams, mean, cluster_rule, detect_rule)
    progress(result)
    return result


def _measure(
    streams: Sequence[Stream], weights: Weights, cluster_rule: ClusterRule, detect_rule: DetectRule
) -> tuple[Round, list[LabelledObserver]]:
    observers = [LabelledObserver(stream.labels.events) for stream in streams]
    measured = [
        _replay(stream, weights, cluster_rule, detect_rule, observer)
        for stream, observer in zip(streams, observers, strict=True)
    ]
    clusters, alerts = (sum(values) / len(streams) for values in zip(*measured, strict=True))
    return Round(weights, clusters, alerts), observers


def _replay(
    stream: Stream, weights: Weights, cluster_rule: ClusterRule, detect_rule: DetectRule, observer: LabelledObserver
) -> tuple[float, float]:
    steps = list(replay(stream.fingerprints, cluster_rule, detect_rule, weights, observer))
    clusters, truth = final_clusters(steps), stream.labels.events
    came = [story_id for story_id in clusters if story_id in truth]
    found = bcubed([clusters[story_id] for story_id in came], [truth[story_id] for story_id in came])
    return found.f1, alert_scores(judge(steps, stream.labels, detect_rule)).f1


def _learned(kind: str, decisions: Decisions) -> list[float]:
    if not decisions.enough:
        raise InvalidRecord(
            f"Too few labels: of {len(decisions.answers)} {kind} to decide on, {sum(decisions.answers)} were right; "
            f"{MIN_EXAMPLES} right and {MIN_EXAMPLES} wrong ones are needed."
        )
    return logistic(np.array(decisions.features), np.array(decisions.answers, np.float64))


def _without_capitals(joins: Decisions) -> Decisions:
    """The same decisions, as they are where capitals do not mark names."""
    marked = JoinWeights._fields.index("marked")
    return Decisions([[*row[:marked], 0.0, *row[marked + 1 :]] for row in joins.features], joins.answers)


def logistic(features: NDArray[np.float64], answers: NDArray[np.float64]) -> list[float]:
    """The weights of a logistic regression whose first feature is the bias, by Newton's method, on standardised features."""
    mean, spread = features.mean(axis=0), features.std(axis=0)
    mean[0], spread[0] = 0.0, 1.0
    spread[spread == 0.0] = 1.0
    scaled = (features - mean) / spread
    penalty = np.full(features.shape[1], REGULARISATION)
    penalty[0] = 1e-9
    weights = np.zeros(features.shape[1])
    for _ in range(50):
        probability = 1.0 / (1.0 + np.exp(-scaled @ weights))
        gradient = scaled.T @ (probability - answers) + penalty * weights
        curvature = (scaled * (probability * (1.0 - probability))[:, None]).T @ scaled + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < 1e-9:
            break
    unscaled = weights / spread
    unscaled[0] = weights[0] - (weights[1:] * mean[1:] / spread[1:]).sum()
    result: list[float] = unscaled.tolist()
    return result
