"""Renewal: what changed between two bursts of a cluster."""

import math

from hypothesis import given
from hypothesis import strategies as st

from pipeline.codec import decode, encode
from pipeline.records import Detection
from pipeline.stages.detect import renewal
from pipeline.stages.detect.renewal import renew_features, renew_score
from pipeline.stages.detect.restore import restore
from pipeline.stages.detect.stage import detect
from pipeline.stages.detect.state import DetectState
from pipeline.stages.rules import DetectRule
from pipeline.stages.weights import RenewWeights, shipped
from pipeline.times import HOUR
from tests.make import assignment, revision, unit_vector

RULE = DetectRule(threshold=15, window=4 * HOUR, min_publishers=2)
vectors = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.1, 5), min_size=1, max_size=5).map(
    lambda raw: [*unit_vector(raw).items()]
)
windows = st.lists(vectors, min_size=2, max_size=8)


def vector(text):
    return [*unit_vector(dict.fromkeys(text.split(), 1.0)).items()]


def burst(text, first, at, count=20):
    return [
        assignment(first + n, "ca", f"s{first + n}", f"{text} detail{n % 3}", at + n, publisher="pqrs"[n % 4])
        for n in range(count)
    ]


def run(edition, rows):
    return [update for row in rows for update in detect(edition, row).updates]


@given(windows, windows, st.integers(0, 100 * HOUR))
def test_features_are_finite_and_do_not_depend_on_order(earlier, new, gap):
    features = renew_features(renewal.burst(earlier), renewal.burst(new), gap)
    assert all(map(math.isfinite, features))
    again = renew_features(renewal.burst(earlier[::-1]), renewal.burst(new[::-1]), gap)
    assert all(math.isclose(one, other, abs_tol=1e-9) for one, other in zip(features, again, strict=True))


def test_the_same_words_are_the_same_event_and_others_are_another():
    tour = renewal.burst([vector(f"miley cyrus bangerz tour show {n % 3}") for n in range(16)])
    ill = renewal.burst([vector(f"miley cyrus hospitalized allergic reaction {n % 3}") for n in range(16)])
    weights = shipped().renew
    assert renew_score(weights, renew_features(tour, tour, 5 * HOUR)) < 0
    assert renew_score(weights, renew_features(tour, ill, 5 * HOUR)) > 0


def test_a_burst_about_something_else_is_another_event_of_the_cluster():
    edition = DetectState(RULE)
    rows = [
        *burst("miley cyrus bangerz tour show", 0, 0),
        *burst("miley cyrus hospitalized allergic reaction", 20, 600),
    ]
    updates = run(edition, rows)
    starts = [update for update in updates if update.sequence == 1]
    assert [update.event_id for update in starts] == ["ea", "ea-2"]
    assert all("hospitalized" in story.title for story in starts[1].stories)
    assert starts[1].stories_total == 16
    ended = [update.event_id for update in updates if update.state == "ended"]
    assert ended == ["ea"]


def test_a_burst_about_the_same_goes_on_under_its_id():
    edition = DetectState(RULE)
    text = "miley cyrus bangerz tour show"
    updates = run(edition, [*burst(text, 0, 0), *burst(text, 20, 600)])
    assert {update.event_id for update in updates} == {"ea"}


def test_an_event_that_is_still_active_gives_way_to_another():
    edition = DetectState(RULE)
    rows = [
        *burst("miley cyrus bangerz tour show", 0, 0),
        *burst("miley cyrus hospitalized allergic reaction", 20, 30, count=100),
    ]
    updates = run(edition, rows)
    states = [(update.event_id, update.state) for update in updates]
    assert ("ea", "ended") in states
    assert states.index(("ea-2", "started")) == states.index(("ea", "ended")) + 1


def test_restored_events_are_compared_as_before():
    rows = [
        *burst("miley cyrus bangerz tour show", 0, 0),
        *burst("miley cyrus hospitalized allergic reaction", 20, 600),
    ]
    old, new = DetectState(RULE), DetectState(RULE)
    restore(new, [decode(encode(detect(old, row).row), Detection) for row in rows[:30]])
    assert run(new, rows[30:]) == run(old, rows[30:])


class Seen:
    """Features as they were seen."""

    def __init__(self):
        self.features = []

    def renew(self, earlier, new, features):
        self.features.append((earlier, new, features))


def test_a_retracted_story_leaves_the_bursts_that_were_compared():
    text = "miley cyrus bangerz tour show"
    log = [
        *burst(text, 0, 0),
        *burst(text, 20, 600),
        revision(90, "ca", "s3", minutes=3, publisher="s", retracted=True),
    ]
    old, new = DetectState(RULE, observer=Seen()), DetectState(RULE, observer=Seen())
    restore(new, [detect(old, row).row for row in log])
    assert old.observer.features
    old.observer.features.clear()
    later = burst(text, 100, 1200)
    assert run(new, later) == run(old, later)
    assert new.observer.features == old.observer.features != []


def test_certainty_renews_nothing():
    edition = DetectState(DetectRule(threshold=15, min_publishers=2, renew_at=1.0))
    rows = [*burst("miley cyrus bangerz tour", 0, 0), *burst("volcano iceland ash", 20, 600)]
    assert {update.event_id for update in run(edition, rows)} == {"ea"}


def test_weights_have_a_name_for_every_feature():
    window = renewal.burst([vector("a"), vector("b")])
    assert len(RenewWeights._fields) == len(renew_features(window, window, 0))
