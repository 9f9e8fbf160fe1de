"""Normalise: tables of cases."""

import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from itertools import product
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.codec import InvalidRecord
from pipeline.languages import publishers, words
from pipeline.records import MAX_PUBLISHER, MAX_TITLE, Story
from pipeline.stages import normalise as normalise_stage
from pipeline.stages import urls
from pipeline.stages.normalise import clean_text, event_time, normalise
from pipeline.stages.rules import NormaliseRule
from pipeline.stages.urls import canonical_url, url_key

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
        patch.setattr(urls, "_CANONICAL", re.compile("(?!)"))
        assert glance == outcome(canonical_url, url)


@given(st.text(st.characters(max_codepoint=127), max_size=30))
def test_what_is_taken_as_plain_at_a_glance_is(text):
    with pytest.MonkeyPatch.context() as patch:
        glance = clean_text(text)
        patch.setattr(normalise_stage, "_PLAIN", re.compile("(?!)"))
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
    with pytest.raises(InvalidRecord, match="`url` is no address of the web"):
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
    assert normalise(story(title="1 : 0"), NOW, NormaliseRule("de")).edition == "de"


def test_a_story_from_the_future_is_taken_at_the_time_it_was_received():
    assert event_time(NOW + timedelta(hours=2), NOW) == NOW
    assert event_time(NOW - timedelta(hours=2), NOW) == NOW - timedelta(hours=2)


@pytest.mark.parametrize("crawled_at", [datetime(1970, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)])
def test_an_impossible_date_is_refused_by_name_and_value(crawled_at):
    with pytest.raises(InvalidRecord, match=f"`crawled_at` is .*{crawled_at.year}"):
        normalise(story(crawled_at=crawled_at), NOW)


@pytest.mark.parametrize("title", [" ", "<br/>", "\u200b", "&nbsp;"])
def test_a_title_without_text_is_refused(title):
    with pytest.raises(InvalidRecord, match="`title` holds no text"):
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
    assert normalise(story(title="Rescuers searching ruins"), NOW, NormaliseRule(stems=False)).tokens == [
        "rescuers",
        "searching",
        "ruins",
    ]


@pytest.mark.parametrize(
    "url",
    ["http://e.com/a", "https://e.com/a/", "https://m.e.com/a", "https://www.e.com/a", "https://amp.e.com/a",
     "https://e.com/a/amp", "https://e.com/a/amp/", "https://e.com/amp/a", "https://e.com/a.amp", "https://e.com/a?amp=1"],
)  # fmt: skip
def test_known_differences_of_one_url_are_one_story(url):
    assert url_key(canonical_url(url)) == "e.com/a"
    assert normalise(story(url=url), NOW).id == normalise(story(url="https://e.com/a"), NOW).id


@pytest.mark.parametrize(
    "url", ["https://e.com/b", "https://e.com/a?page=2", "https://m.com/a", "https://e.com/campus"]
)
def test_other_urls_are_other_stories(url):
    assert url_key(canonical_url(url)) not in {"e.com/a", "com/a"}


@given(
    st.lists(st.sampled_from(["www", "www2", "m", "mobile", "amp", "a"]), max_size=3),
    st.sampled_from(["e.com", "com", "e.com:80", "e.com:81"]),
    st.lists(st.sampled_from(["/", "a", "amp", ".amp", ".html", "%41", "\u00fc", "?", "=", "&", "#"]), max_size=5),
)
@example(["www"], "com", [])
def test_the_short_way_to_the_key_of_a_url_gives_the_same(names, host, path):
    url = canonical_url("http://" + ".".join([*names, host]) + "/" + "".join(path))
    assert url_key(url) == urls._key_of_parts(url)


def test_one_page_written_in_letters_and_in_escapes_is_one_story():
    assert url_key(canonical_url("https://e.com/m\u00fcnchen")) == url_key(canonical_url("https://e.com/m%C3%BCnchen"))


def test_what_cannot_be_seen_in_a_url_is_spelled_out():
    assert canonical_url("https://e.com/\u202egnp.exe\x07a\tb\x00") == "https://e.com/%E2%80%AEgnp.exe%07ab%00"
    with pytest.raises(InvalidRecord, match="no address of the web"):
        canonical_url("https://e\u202em.com/")


@pytest.mark.parametrize("story_id", ["a\x00b", "a\nb", "a\u202eb", "a\x9fb"])
def test_an_id_with_what_cannot_be_seen_is_refused(story_id):
    with pytest.raises(InvalidRecord, match="`id` holds the character U\\+"):
        normalise(story(id=story_id), NOW)


def test_ids_are_bounded_in_bytes():
    assert normalise(story(id="x" * 512), NOW).id
    with pytest.raises(InvalidRecord, match="`id` has more than 512 bytes"):
        normalise(story(id="\u4e2d" * 171), NOW)


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_no_control_character_passes_any_field(title, publisher, tail):
    try:
        made = normalise(story(title=title, publisher=publisher, url=f"https://e.com/{tail}", id=tail or None), NOW)
    except InvalidRecord:
        return
    fields = (made.title, made.publisher, made.url, made.id, made.family, *made.tokens)
    assert not [sign for field in fields for sign in field if unicodedata.category(sign) == "Cc"]


def test_a_time_that_has_no_place_in_utc_is_refused():
    east = timezone(timedelta(hours=14))
    with pytest.raises(InvalidRecord, match="`published_at` cannot be"):
        normalise(story(published_at=datetime(1, 1, 1, tzinfo=east)), NOW)


@pytest.mark.parametrize(
    ("tag", "edition"), [("eng", "en"), ("iw", "he"), ("pt-BR", "pt"), ("deu", "de"), ("EN_us", "en")]
)
def test_codes_that_mean_one_language_are_one_edition(tag, edition):
    assert normalise(story(language=tag), NOW).edition == edition


def test_there_are_no_more_editions_than_languages():
    letters = "abcdefghijklmnopqrstuvwxyz"
    made_up = ["".join(code) for code in product(letters, repeat=3)]
    editions = {normalise(story(language=code), NOW).edition for code in made_up[::7]}
    assert len(editions) < 190
    assert normalise(story(language="xqz"), NOW).edition == "en", "an unknown one counts as not given"


PATTERNS = {
    "comments that do not end": "<!--",
    "tags that do not end": "<a",
    "comments": "<!-- -->",
    "combining marks": "\u0300\u0316",
    "marks that are no marks": "\uff9e\u0300",
    "marks with what is left out between": "\u0300" * 29 + "\u0640",
    "entities": "&amp",
    "entity beginnings": "&",
    "character references": "&#1",
    "what becomes eighteen": "\ufdfa",
    "separators": " - ",
    "labels": "News | ",
    "brackets": "(",
    "commas": ", edition",
    "apostrophes": "a'",
    "joiners": "\u0915\u094d\u200d",
    "hangul": "\u1100\u1161\u11a8",
    "hosts": "a.a.",
    "spaces": " \u3000",
    "quotes": "\u201c\u2019",
    "capitals that grow": "\u0130",
}


@pytest.mark.timeout(20)  # what these found took minutes
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_no_text_keeps_a_worker_busy(pattern, monkeypatch):
    seen = []

    def normalized(form, text):
        seen.append(text)
        return unicodedata.normalize(form, text)

    for module in (normalise_stage, publishers, words):
        monkeypatch.setattr(module, "unicodedata", SimpleNamespace(normalize=normalized))
    whole = (pattern * (200_000 // len(pattern) + 1))[:200_000]
    made = normalise(story(title=f"Quake {whole[:1900]}", publisher=whole[:500], body=whole), NOW)
    assert len(made.body or "") <= normalise_stage.BODY_CHARACTERS
    assert len(made.title) <= MAX_TITLE
    assert len(made.publisher) <= MAX_PUBLISHER
    assert max(map(len, made.tokens), default=0) <= 2 * words.MAX_TOKEN_LENGTH
    assert max(map(len, seen), default=0) <= normalise_stage.BODY_CHARACTERS
    assert not [text for text in seen if len(text) > MAX_TITLE and re.search("[\u0300\u0316]{40}", text)]


def test_a_number_that_python_would_not_read_is_no_character():
    assert clean_text("a &#" + "9" * 5_000 + "; b") == "a b"


def test_comments_go_and_what_is_none_stays():
    assert clean_text("a <!-- <b> \n --> c <!-- d") == "a c <!-- d"


def test_the_fields_of_a_producer_are_kept_up_to_a_limit_the_shortest_first():
    assert normalise(story(extra={"desk": "Lima"}), NOW).extra == {"desk": "Lima"}
    long = story(extra={"page": "x" * 20_000, "desk": "Lima", "tags": ["a"] * 1_000})
    assert normalise(long, NOW).extra == {"desk": "Lima", "tags": ["a"] * 1_000}
