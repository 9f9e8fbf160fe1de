"""Links: alerts of one happening are found in different languages, and others are not."""

from datetime import UTC, datetime, timedelta
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.stages import link
from tests import links

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
TITLES = links.alerts()


def alert(event, language, at=NOON):
    return link.Alert(f"{event} {language}", language, at, tuple(TITLES[event, language]))


def test_weights_learned_on_one_half_of_the_events_hold_on_the_other():
    """As docs/quality.md says: few links are wrong, and more than half of the pairs are found."""
    halves = [list(links.pairs(links.HALF)), list(links.pairs({event for event, _ in TITLES} - links.HALF))]
    found = [links.scores(measured, links.learn(learned)) for learned, measured in (halves, halves[::-1])]
    assert min(precision for precision, _ in found) >= 0.97
    assert mean(recall for _, recall in found) >= 0.5


def test_the_weights_are_those_that_are_learned():
    assert links.learn(list(links.pairs({event for event, _ in TITLES}))) != link.LinkWeights(*[0] * 7)
    halves = [*links.pairs(links.HALF), *links.pairs({event for event, _ in TITLES} - links.HALF)]
    assert links.learn(halves) == pytest.approx(link.WEIGHTS, abs=0.05)


def test_a_link_names_the_countries_and_numbers_that_both_name():
    found = link.link(alert("quake-peru", "es"), alert("quake-peru", "ru"))
    assert found is not None
    assert (found.event_id, found.other_id) == ("quake-peru es", "quake-peru ru")
    assert "PE" in found.places
    assert "7.3" in found.numbers
    assert link.LINK_AT <= found.score <= 1


def test_two_quakes_are_not_linked():
    assert link.link(alert("quake-peru", "es"), alert("quake-iran", "tr")) is None


def test_alerts_of_one_edition_are_not_linked():
    assert link.link(alert("quake-peru", "es"), alert("quake-peru", "es")) is None


@pytest.mark.parametrize(("later", "linked"), [(link.REACH, True), (link.REACH + timedelta(seconds=1), False)])
def test_alerts_further_apart_than_the_reach_are_not_linked(later, linked):
    russian = alert("quake-peru", "ru", NOON + later)
    assert (link.link(alert("quake-peru", "es"), russian) is not None) == linked


titles = st.lists(st.text(max_size=60), min_size=1, max_size=4).map(tuple)


@given(titles, titles, st.sampled_from(["en", "de", "zh", "ko", "xx"]), st.sampled_from(["ru", "ar", "ja"]))
def test_a_score_is_a_probability_and_the_same_both_ways(some, others, edition, other_edition):
    left, right = link.profile(some, edition), link.profile(others, other_edition)
    assert link.link_score(left, right) == pytest.approx(link.link_score(right, left))
    assert 0 <= link.link_score(left, right) <= 1
    assert link.link_score(left, right) == link.link_score(link.profile(some[::-1], edition), right)
