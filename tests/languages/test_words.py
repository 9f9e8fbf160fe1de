"""Words and stems: tables of cases, as readers of each language expect."""

from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.languages.background import background
from pipeline.languages.words import SNOWBALL, stop_words, tokenise, words

COUNTS = resources.files("pipeline.languages") / "counts"


def tokens(text, language):
    return tokenise(text, language)[0]


def test_tokens_are_stems_of_content_words_and_the_capitalised_ones_are_marked():
    assert tokenise("The 3 rescuers were searching Nepal's ruins", "en") == (
        ["3", "rescuer", "search", "nepal", "ruin"],
        ["3", "nepal"],
    )


def test_a_headline_of_stop_words_keeps_them():
    assert tokens("Who is who?", "en") == ["who", "is", "who"]


def test_a_language_without_lists_keeps_its_words():
    assert tokens("Saluton mondo", "xx") == ["saluton", "mondo"]


def test_words_as_they_stand_without_stems():
    assert tokenise("Neutron stars colliding", "en", stems=False)[0] == ["neutron", "stars", "colliding"]


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("ar", "الرئيس يزور مصر", "رئيس يزور مصر"),  # the article
        ("ar", "أزمة النفط", "ازمة النفط"),  # hamza
        ("ar", "مُحَمَّد", "محمد"),  # vowel points
        ("ar", "محــمد", "محمد"),  # stretching
        ("da", "Regeringen og lovene", "regeringens lov"),
        ("de", "Die Straßen der Städte", "Strassen einer Stadt"),
        ("de", "BUNDESTAG", "Bundestag"),
        ("el", "ΕΛΛΑΔΑ", "Ελλάδα"),
        ("en", "Banks' warnings", "bank warned"),
        ("es", "Las elecciones presidenciales", "elección presidencial"),
        ("fa", "كتاب", "کتاب"),  # Arabic and Persian kaf
        ("fi", "Hallituksen päätöksen", "hallituksessa päätökset"),
        ("fr", "L’économie française", "économies françaises"),
        ("he", "שָׁלוֹם", "שלום"),
        ("hi", "चुनावों", "चुनाव"),
        ("hu", "A kormány döntései", "kormány döntés"),
        ("it", "Le elezioni europee", "elezione europea"),
        ("nl", "De verkiezingen", "verkiezing"),
        ("no", "Regjeringens forslag", "regjering forslag"),
        ("pt", "Os governos", "governo"),
        ("ro", "Alegerile", "alegeri"),
        ("ru", "Путин подписал законы", "Путина подписали закон"),
        ("uk", "Президент підписав закони", "президента підписали законами"),
        ("uk", "Пожежі загинули", "пожежею загинула"),
        ("tr", "seçimlerinde", "seçim"),
        ("ar", "قتل ١٢ شخصا", "قتل 12 شخصا"),  # digits
        ("hi", "२०२६ चुनाव", "2026 चुनाव"),
        ("ru", "Всё ещё далёкий", "Все еще далекий"),  # yo
        ("sv", "Regeringens beslut", "regeringen beslut"),
        ("tr", "İSTANBUL IŞIK", "istanbul ışık"),  # dotted and dotless i
    ],
)
def test_forms_of_a_word_have_one_token(language, one, other):
    shared = set(tokens(one, language)) & set(tokens(other, language))
    assert shared == set(tokens(one, language)), (tokens(one, language), tokens(other, language))


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("中国宣布", "zh", ["中国", "国宣", "宣布", "中", "国", "宣", "布"]),
        ("東京で地震", "ja", ["東京", "地震"]),
        ("東京都知事", "ja", ["東京", "京都", "都知", "知事"]),
        ("ニュースを見る", "ja", ["ニュース", "見"]),
        ("ました", "ja", ["まし", "した"]),
        ("국회의장 통과", "ko", ["국회", "회의", "의장", "통과"]),
        ("ประเทศ", "th", ["ประ", "ระเ", "ะเท", "เทศ"]),
        ("ไทย", "th", ["ไทย"]),
        ("iPhone 发布", "zh", ["iphone", "发布", "发", "布"]),
        ("Apple发iPhone15", "zh", ["apple", "发", "iphone15"]),
    ],
)
def test_scripts_without_spaces_are_cut_into_runs_of_signs(text, language, expected):
    assert tokens(text, language) == expected


def test_capitals_mark_names_only_where_other_words_have_none():
    assert tokenise("Angela Merkel in Paris", "fr")[1]
    assert tokenise("Die Kanzlerin reist nach Paris", "de")[1] == []


@pytest.mark.parametrize("language", [path.name.partition(".")[0] for path in COUNTS.iterdir()])
def test_a_language_with_counts_has_stop_words(language):
    known = background(language)
    assert known.headlines >= 500
    assert 0 < max(known.holding.values()) < known.headlines / 2
    assert stop_words(language)


def test_vowel_signs_are_part_of_their_word():
    assert [word for word, _ in words("हिन्दी समाचार", "hi")] == ["हिन्दी", "समाचार"]


def test_a_persian_suffix_is_apart_and_an_indic_joiner_is_not():
    assert [word for word, _ in words("کتاب\u200cها", "fa")] == ["کتاب", "ها"]
    assert len([word for word, _ in words("क्\u200dष", "hi")]) == 1


def test_fifteen_languages_have_both_stop_words_and_stems():
    both = [language for language in SNOWBALL if stop_words(language)]
    assert len(both) >= 15
    assert {"ar", "de", "en", "es", "fr", "hi", "it", "nl", "pl", "pt", "ru", "sv"} <= set(both)


@pytest.mark.parametrize(
    ("language", "word"),
    [
        ("ar", "من"),
        ("de", "und"),
        ("es", "los"),
        ("fr", "les"),
        ("it", "che"),
        ("no", "og"),
        ("pt", "não"),
        ("ru", "или"),
    ],
)
def test_stop_words_are_left_out(language, word):
    assert tokens(f"xyz {word}", language) == tokens("xyz", language)


@given(st.text(max_size=200), st.sampled_from(["en", "ar", "ja", "tr", "hi", "xx"]))
def test_any_text_has_tokens_and_marks_among_them(text, language):
    found, marked = tokenise(text, language)
    assert set(marked) <= set(found)
    assert all(found)


@given(st.text(st.characters(max_codepoint=127), max_size=40))
def test_ascii_text_has_the_same_words_by_the_short_way(text):
    everything = list(words(text + " \u00e9", "fr"))  # a letter beyond ASCII takes the long way
    assert list(words(text, "fr")) == everything[:-1]
