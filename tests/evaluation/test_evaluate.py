"""Evaluation: the definitions, and the quality on the sample that ships."""

import pytest

from pipeline.codec import InvalidRecord
from pipeline.evaluation.alerts import breaking_labels
from pipeline.evaluation.evaluate import evaluate, read_truth
from pipeline.replay import fingerprints
from pipeline.stages.rules import ClusterRule, DetectRule
from tests import sample
from tests.make import fingerprinted

RULE = DetectRule(threshold=3, window=60 * 60 * 1_000_000, min_publishers=2)


def log(*stories):
    return list(enumerate(stories))


def test_a_label_breaks_when_its_fourth_story_within_the_window_comes():
    due = breaking_labels({"quake": [0, 50, 10, 20, 30], "slow": [0, 10, 20, RULE.window + 1]}, RULE)
    assert due == {"quake": 30}


def test_true_duplicate_and_false_alerts_add_up():
    quake = [fingerprinted(f"q{n}", "earthquake strike nepal capital", n) for n in range(5)]
    again = [fingerprinted(f"r{n}", "volcano erupt iceland ash", n + 10) for n in range(5)]
    mixed = [fingerprinted(f"m{n}", "stock market rally record", n + 20) for n in range(5)]
    truth = {f"q{n}": "A" for n in range(5)} | {f"r{n}": "A" for n in range(5)} | {f"m{n}": f"M{n}" for n in range(5)}
    truth["m0"] = "A"  # the largest label of that window, but far from half of it
    result = evaluate(log(*quake, *again, *mixed), truth, ClusterRule(), RULE)
    events = result.events
    assert (events.alerts, events.true, events.duplicates, events.false, events.breaking) == (3, 1, 1, 1, 1)
    assert (events.precision, events.recall) == (pytest.approx(1 / 3, abs=1e-4), 1.0)
    assert events.median_delay_seconds == 0.0
    assert result.stories == 15


def test_the_sample_reaches_its_quality():
    stories = sample.stories()
    truth = sample.truth()
    result = evaluate(list(fingerprints(stories, sample.RECEIVED)), truth, ClusterRule(), DetectRule())
    assert result.stories == 11_623
    assert result.bcubed["f1"] >= 0.80
    assert result.events.f1 >= 0.90
    assert result.events.alerts >= 75


def test_labels_without_their_columns_are_refused(tmp_path):
    path = tmp_path / "truth.csv"
    path.write_text("id,label\na,b\n")
    with pytest.raises(InvalidRecord, match="story_id and event"):
        read_truth(str(path))
