"""Filters of events."""

import msgspec
import pytest

from pipeline.filters import EventFilter
from pipeline.replay import replay
from pipeline.stages.rules import DetectRule
from pipeline.times import HOUR
from tests.make import fingerprinted


@pytest.fixture(scope="module")
def update():
    log = [fingerprinted(f"s{n}", "earthquake strike nepal capital", n) for n in range(5)]
    rule = DetectRule(threshold=3, window=HOUR, min_publishers=2)
    return next(update for step in replay(enumerate(log), detect_rule=rule) for update in step.updates)


@pytest.mark.parametrize(
    ("chosen", "matches"),
    [
        ({}, True),
        ({"edition": "en"}, True),
        ({"edition": "de"}, False),
        ({"words": "NEPAL quake"}, True),
        ({"words": "nepal flood"}, False),
        ({"publisher": "paper S0"}, True),
        ({"publisher": "paper"}, False),
        ({"publishers": 4}, True),
        ({"publishers": 5}, False),
        ({"state": "started"}, True),
        ({"state": "ended"}, False),
    ],
)
def test_an_update_matches_what_it_is(update, chosen, matches):
    assert EventFilter(**chosen).matches(update) is matches


@pytest.mark.parametrize(
    ("wanted", "matches"), [("en", True), ("en-sport", True), ("en-spo", False), ("en-world", False), ("e", False)]
)
def test_a_language_has_all_its_parts(update, wanted, matches):
    of_a_part = msgspec.structs.replace(update, edition="en-sport")
    assert EventFilter(edition=wanted).matches(of_a_part) is matches


def test_what_only_emerges_is_no_event(update):
    assert not EventFilter().matches(msgspec.structs.replace(update, sequence=0, state="emerging"))
