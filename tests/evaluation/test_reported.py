"""The figures on first stories and burst scores."""

from pipeline.evaluation.reported import auc, first_stories
from pipeline.replay import replay
from pipeline.stages.rules import DetectRule
from pipeline.times import HOUR
from tests.make import fingerprinted

RULE = DetectRule(threshold=3, window=HOUR, min_publishers=2)


def test_the_area_under_the_curve_is_the_share_of_pairs_in_order():
    assert auc([3, 2], [1, 2]) == (1 + 1 + 1 + 0.5) / 4
    assert auc([], [1]) is None


def test_an_event_whose_first_story_is_of_another_label_counts_against_it_unless_that_is_a_stray():
    log = [fingerprinted("old", "earthquake strike nepal coast village", 0)]
    log += [fingerprinted(f"s{n}", "earthquake strike nepal capital kathmandu", 2000 + n) for n in range(5)]
    steps = list(replay(enumerate(log), detect_rule=RULE))
    truth = {"old": "another", **{f"s{n}": "quake" for n in range(5)}}
    assert first_stories(steps, truth) == (1, 0, 1)
    assert first_stories(steps, dict.fromkeys(truth, "quake")) == (1, 1, 1)
    assert first_stories(steps, {}) == (0, 0, 0)
