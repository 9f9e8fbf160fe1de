"""Evaluation: the definitions, and the quality on the sample that ships."""

import msgspec
import pytest

from pipeline.evaluation.alerts import Due, breaking_labels
from pipeline.evaluation.evaluate import evaluate, run_file, summarise
from pipeline.evaluation.labels import Labels
from pipeline.replay import fingerprints
from pipeline.stages.fingerprint import fingerprint
from pipeline.stages.rules import ClusterRule, DetectRule
from tests import sample
from tests.make import fingerprinted

RULE = DetectRule(threshold=3, window=60 * 60 * 1_000_000, min_publishers=2)


def log(*stories):
    return list(enumerate(stories))


def by(publishers, times):
    """Stories at these times, each by the next of so many publishers in turn."""
    return [(time, f"p{number % publishers}") for number, time in enumerate(times)]


def test_a_label_breaks_when_its_fourth_story_within_the_window_comes():
    stories = {"quake": by(2, [0, 50, 10, 20, 30]), "slow": by(2, [0, 10, 20, RULE.window + 1])}
    assert breaking_labels(stories, RULE) == ({"quake": Due(30, 0)}, 0)


def test_a_label_is_due_when_enough_publishers_have_it_and_never_without():
    late = [(0, "a"), (1, "a"), (2, "a"), (3, "a"), (4, "a"), (5, "b")]
    apart = [*by(1, [0, 1, 2, 3]), (RULE.window + 4, "b")]
    assert breaking_labels({"late": late, "apart": apart}, RULE) == ({"late": Due(5, 0)}, 1)


@pytest.fixture
def five_bursts():
    """The alerts of five bursts of five stories, about different things."""
    texts = {
        "q": "earthquake strike nepal capital",
        "r": "volcano erupt iceland ash",
        "m": "stock market rally record",
        "s": "singer cancel concert tour",
        "t": "parliament pass budget vote",
    }
    return log(
        *(
            fingerprinted(f"{name}{number}", text, 10 * place + number)
            for place, (name, text) in enumerate(texts.items())
            for number in range(5)
        )
    )


def labelled(**events):
    """The label of each story of a burst, by the name of the burst."""
    return {f"{name}{number}": event for name, event in events.items() for number in range(5)}


def test_true_repeated_false_and_unknown_alerts_add_up(five_bursts):
    truth = labelled(q="A", r="A", t="B") | {f"m{number}": f"M{number}" for number in range(5)}
    truth["m0"] = "A"  # the largest label of that window, but far from half of it
    result = evaluate(five_bursts, Labels(truth, {}), ClusterRule(), RULE)
    events = result.events
    assert (events.alerts, events.true, events.duplicates, events.false, events.unknown) == (5, 2, 1, 1, 1)
    assert (events.breaking, events.precision, events.recall) == (2, 0.5, 1.0)
    assert events.median_delay_seconds == 0.0
    assert (result.stories, result.unlabelled, result.unused_labels, result.two_level) == (25, 5, 0, None)


def test_few_labels_among_many_stories_make_an_alert_neither_true_nor_false(five_bursts):
    truth = labelled(q="A") | {"r0": "B", "m0": "A", "m1": "A", "m2": "A"}
    events = evaluate(five_bursts, Labels(truth, {}), ClusterRule(), RULE).events
    assert (events.true, events.duplicates, events.false, events.unknown) == (1, 1, 0, 3)


def test_on_two_levels_an_alert_repeats_only_one_of_its_group(five_bursts):
    truth = labelled(q="A", r="A", m="A", s="B", t="C")
    groups = labelled(q="A1", r="A2", m="A1", s="B1", t="C1")
    result = evaluate(five_bursts, Labels(truth, groups), ClusterRule(), RULE)
    assert (result.events.true, result.events.duplicates) == (3, 2)
    assert result.two_level.events.repeats == 1
    assert (result.two_level.events.precision, result.two_level.events.recall) == (0.8, 1.0)
    assert result.bcubed == {"precision": 1.0, "recall": 0.6, "f1": 0.75}
    assert result.two_level.bcubed["recall"] == pytest.approx(0.8)  # q and m are one group in two clusters


def test_delays_with_misses_wait_for_ever(five_bursts):
    apart = [record if record.story.id[0] != "m" else alone(record) for _, record in five_bursts]
    labels = Labels(labelled(q="A", r="B", m="C", s="D", t="E"), {})
    events = evaluate(log(*apart), labels, ClusterRule(), RULE).events
    assert (events.true, events.breaking) == (4, 5)
    assert (events.delays.p95, events.delays_with_misses.median, events.delays_with_misses.p90) == (0.0, 0.0, None)
    assert events.delays_from_first_story.median == pytest.approx(180.0)


def alone(record):
    """The story with words that no other has."""
    return fingerprint(msgspec.structs.replace(record.story, tokens=[record.story.id]))


def test_figures_of_several_files_are_those_of_all_their_events(five_bursts):
    perfect = Labels(labelled(q="A", r="B", m="C", s="D", t="E"), {})
    mixed = Labels(labelled(q="A", r="A", m="A", s="A", t="A"), {})
    rules = ClusterRule(), RULE
    runs = [run_file(name, five_bursts, labels, *rules) for name, labels in (("one", perfect), ("two", mixed))]
    both = summarise("newsburst", runs)
    assert (both.files, both.stories) == (["one", "two"], 50)
    assert (both.events.true, both.events.duplicates, both.events.breaking) == (6, 4, 6)
    assert both.bcubed["recall"] == pytest.approx((1.0 + 0.2) / 2)
    assert both.intervals["events_f1"][0] < both.events.f1 < both.intervals["events_f1"][1]


def test_the_sample_reaches_its_quality():
    stories = sample.stories()
    labels = sample.labels()
    result = evaluate(list(fingerprints(stories, sample.RECEIVED)), labels, ClusterRule(), DetectRule())
    assert result.stories == 11_623
    assert result.bcubed["f1"] >= 0.80
    assert result.events.f1 >= 0.90
    assert result.events.alerts >= 75
