"""Links: alerts of one happening are found in different languages, and others are not."""

from datetime import timedelta
from statistics import mean
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.stages import link
from tests import links
from tests.multilingual import NOON

TITLES = links.alerts()


def alert(event, language, at=NOON):
    return link.Alert(f"{event} {language}", language, at, link.profile(TITLES[event, language], language))


def test_weights_learned_on_one_half_of_the_events_hold_on_the_other():
    """As docs/quality.md says: few links are wrong, and nearly half of the pairs are found."""
    halves = links.halves()
    found = [links.scores(measured, links.learn(learned)) for learned, measured in (halves, halves[::-1])]
    assert min(precision for precision, _ in found) >= 0.93
    assert mean(recall for _, recall in found) >= 0.4


def test_the_weights_are_those_that_are_learned():
    assert links.learn([*links.halves()[0], *links.halves()[1]]) == pytest.approx(link.WEIGHTS, abs=0.02)


def test_no_look_alikes_are_linked():
    """Two happenings in one country, or with one number or one name in common."""
    pairs = list(links.look_alikes())
    assert len(pairs) == 20
    assert [one.event_id for _, one, other in pairs if link.link(one, other)] == []


@pytest.mark.parametrize("titles", [["Heat of 40 degrees"], ["Peru"], ["COVID-19 in Peru"]])
def test_a_number_or_a_country_alone_links_nothing(titles):
    one = link.Alert("a", "en", NOON, link.profile(titles, "en"))
    other = link.Alert("b", "es", NOON, link.profile(titles, "es"))
    assert link.link(one, other) is None


def test_the_longest_headlines_take_no_longer_than_their_beginnings():
    long = " ".join(["\ud55c\uad6d\uc5b4\uae34\ub2e8\uc5b4\uc608\uc2dc"] * 200)
    assert link.profile([long] * 500, "ko") == link.profile([long[: link.LONGEST_HEADLINE]] * link.MOST_HEADLINES, "ko")


@pytest.mark.parametrize("edition", ["../../x", "e" * 300, "", "a\0b"])
def test_an_edition_that_is_no_language_has_no_links(edition):
    update = SimpleNamespace(edition=edition, event_id="e", at=NOON, stories=[])
    assert link.alert_of(update) is None


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


titles = st.lists(st.text(max_size=60), max_size=4)


@given(titles, titles, st.sampled_from(["en", "de", "zh", "ko", "xx"]), st.sampled_from(["ru", "ar", "ja"]))
def test_a_score_is_a_probability_and_the_same_both_ways(some, others, edition, other_edition):
    left, right = link.profile(some, edition), link.profile(others, other_edition)
    assert link.link_score(left, right) == pytest.approx(link.link_score(right, left))
    assert 0 <= link.link_score(left, right) <= 1
    assert link.link_score(left, right) == link.link_score(link.profile(some[::-1], edition), right)
