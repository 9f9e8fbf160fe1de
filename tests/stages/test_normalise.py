"""Normalise: tables of cases."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.records import InvalidRecord, Story
from pipeline.stages import normalise as stage
from pipeline.stages.normalise import canonical_url, clean_text, event_time, normalise

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def story(**changes):
    fields = {"url": "https://example.com/a", "title": "Quake hits city", "publisher": "Daily", "crawled_at": NOW}
    return Story(**(fields | changes))


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("  Two   spaces\n", "Two spaces"),
        ("Fish &amp; chips", "Fish & chips"),
        ("<b>Bold</b> claim", "Bold claim"),
        ("a < b and c > d", "a < b and c > d"),
        ("\u201cIt\u2019s\u201d", '"It\'s"'),
        ("\ufb01re \uff21\uff22\uff23", "fire ABC"),
        ("zero\u200bwidth\u202e and\x00 NUL", "zero width and NUL"),
    ],
)
def test_clean_text(text, clean):
    assert clean_text(text) == clean


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("HTTP://Example.COM:80/Path?utm_source=x&b=2#top", "http://example.com/Path?b=2"),
        ("https://example.com", "https://example.com/"),
        ("https://example.com:8443/a?b=1&a=2", "https://example.com:8443/a?b=1&a=2"),
        ("https://example.com/a?fbclid=123", "https://example.com/a"),
    ],
)
def test_canonical_url(url, canonical):
    assert canonical_url(url) == canonical
    assert canonical_url(canonical) == canonical


@given(st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF), max_size=30))
def test_what_is_taken_as_canonical_at_a_glance_is(tail):
    url = f"https://example.com/{tail}"
    with pytest.MonkeyPatch.context() as patch:
        glance = outcome(canonical_url, url)
        patch.setattr(stage, "_CANONICAL", re.compile("(?!)"))
        assert glance == outcome(canonical_url, url)


@given(st.text(st.characters(max_codepoint=127), max_size=30))
def test_what_is_taken_as_plain_at_a_glance_is(text):
    with pytest.MonkeyPatch.context() as patch:
        glance = clean_text(text)
        patch.setattr(stage, "_PLAIN", re.compile("(?!)"))
        assert glance == clean_text(text)


def outcome(function, text):
    try:
        return function(text)
    except InvalidRecord as error:
        return str(error)


@pytest.mark.parametrize(
    "url", ["example.com/a", "ftp://example.com/a", "https://", "http://[::1", "javascript:alert(1)", "/a"]
)
def test_what_is_no_web_address_is_refused_by_name(url):
    with pytest.raises(InvalidRecord, match="url: .*not an absolute http or https URL"):
        canonical_url(url)


def test_a_story_without_id_gets_the_same_one_for_the_same_page():
    first = normalise(story(url="https://example.com/a?utm_source=feed"), NOW)
    second = normalise(story(url="https://EXAMPLE.com/a#comments"), NOW)
    other = normalise(story(url="https://example.com/b"), NOW)
    assert first.id == second.id != other.id


def test_an_empty_publisher_is_the_host():
    assert normalise(story(publisher=" "), NOW).publisher == "example.com"


def test_the_edition_is_the_language_without_its_region():
    assert normalise(story(language="pt_BR"), NOW).edition == "pt"
    assert normalise(story(), NOW, default_language="de").edition == "de"


def test_a_story_from_the_future_is_taken_at_the_time_it_was_received():
    assert event_time(NOW + timedelta(hours=2), NOW) == NOW
    assert event_time(NOW - timedelta(hours=2), NOW) == NOW - timedelta(hours=2)


@pytest.mark.parametrize("crawled_at", [datetime(1970, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)])
def test_an_impossible_date_is_refused_by_name_and_value(crawled_at):
    with pytest.raises(InvalidRecord, match=f"crawled_at: {crawled_at.year}"):
        normalise(story(crawled_at=crawled_at), NOW)


@pytest.mark.parametrize("title", [" ", "<br/>", "\u200b", "&nbsp;"])
def test_a_title_without_text_is_refused(title):
    with pytest.raises(InvalidRecord, match="title: .* holds no text"):
        normalise(story(title=title), NOW)


def test_a_language_that_is_not_given_is_found_from_the_text():
    assert normalise(story(title="Der Bundestag stimmt am Freitag über das neue Gesetz ab"), NOW).language == "de"
    assert (
        normalise(story(title="iPhone", body="Le gouvernement annonce une réforme des retraites."), NOW).edition == "fr"
    )
    assert normalise(story(title="Der Bundestag stimmt ab", language="en"), NOW).language == "en"


def test_the_feeds_of_one_publisher_are_one_family():
    names = ["Reuters UK", "Reuters (blog)", "reuters.com"]
    assert {normalise(story(publisher=name), NOW).family for name in names} == {"reuters"}


def test_a_body_is_cleaned_and_its_beginning_becomes_tokens():
    made = normalise(story(body="<p>Rescuers search the&nbsp;ruins.</p>" + " filler" * 200 + " volcano"), NOW)
    assert made.body.startswith("Rescuers search the ruins.")
    assert made.lead[:3] == ["rescuer", "search", "ruin"]
    assert "volcano" not in made.lead
    assert normalise(story(), NOW).body is None


def test_words_as_they_stand_for_the_profile_that_compares_them():
    assert normalise(story(title="Rescuers searching ruins"), NOW, stems=False).tokens == [
        "rescuers",
        "searching",
        "ruins",
    ]
