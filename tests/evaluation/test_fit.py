"""Fit: weights that are learned anew."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pipeline.codec import InvalidRecord
from pipeline.evaluation.fit import LabelledObserver, Stream, fit, logistic
from pipeline.replay import fingerprints
from pipeline.stages.rules import ClusterRule, DetectRule
from pipeline.stages.weights import JoinWeights, MergeWeights, Weights, shipped
from tests import sample


def stream(count):
    stories = sample.stories()[:count]
    return Stream(list(fingerprints(stories, sample.RECEIVED)), sample.labels())


def test_logistic_regression_is_that_of_scikit_learn():
    rng = np.random.default_rng(5)
    features = np.column_stack([np.ones(500), rng.normal(2, 3, (500, 4))])
    answers = (features @ [-1, 0.5, -0.7, 0.0, 0.2] + rng.logistic(size=500) > 0).astype(float)
    scaled = (features[:, 1:] - features[:, 1:].mean(axis=0)) / features[:, 1:].std(axis=0)
    model = LogisticRegression(C=1.0, tol=1e-10, max_iter=1_000).fit(scaled, answers)
    expected = model.coef_[0] / features[:, 1:].std(axis=0)
    weights = logistic(features, answers)
    assert weights[1:] == pytest.approx(expected, abs=1e-4)
    assert weights[0] == pytest.approx(model.intercept_[0] - expected @ features[:, 1:].mean(axis=0), abs=1e-3)


def test_weights_from_nothing_become_good_and_the_same_ones_each_time():
    nothing = Weights(
        *[JoinWeights(-4.0, *[0.0] * 7, 8.0, 0.0)] * 2, MergeWeights(-1.0, *[0.0] * 10), shipped().renew
    )  # join what covers half of the words, merge nothing
    rounds = []
    labelled = [stream(4_000)]
    best = fit(labelled, nothing, ClusterRule(), DetectRule(), rounds=2, progress=rounds.append)
    assert len(rounds) == 3
    assert best.bcubed > rounds[0].bcubed
    assert fit(labelled, nothing, ClusterRule(), DetectRule(), rounds=2) == best


def test_too_few_labels_are_refused_with_their_number():
    with pytest.raises(InvalidRecord, match="Too few labels: of .* joins"):
        fit([stream(60)], shipped(), ClusterRule(), DetectRule(), rounds=1)


def test_decisions_are_judged_by_the_labels_of_most_stories():
    observer = LabelledObserver({"a": "x", "b": "x", "c": "y", "d": "y"})
    observer.join("a", ["b", "unknown"], [1.0])
    observer.join("c", ["a", "b"], [1.0])
    observer.join("unknown", ["a"], [1.0])
    observer.join("a", ["unknown"], [1.0])
    observer.merge(["a", "b", "c"], ["d"], [1.0])
    observer.merge(["a"], ["unknown"], [1.0])
    observer.renew(["a", "b"], ["c", "d"], [1.0])
    assert (observer.joins.answers, observer.merges.answers, observer.renewals.answers) == (
        [True, False],
        [False],
        [True],
    )
