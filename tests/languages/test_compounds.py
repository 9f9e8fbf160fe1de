"""Compounds: they are split as readers of the language would, and what is no compound stays whole."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.languages.compounds import LINKS, ranks, split
from pipeline.languages.words import tokenise


@pytest.mark.parametrize(
    ("language", "word", "parts"),
    [
        ("de", "moselbrücke", ("mosel", "brücke")),
        ("de", "brückeneinsturz", ("brücke", "einsturz")),  # the second part is not on the list
        ("de", "bundesverkehrsminister", ("bund", "verkehr", "minister")),
        ("de", "gleinalmtunnel", ("gleinalm", "tunnel")),  # a name first
        ("de", "zugunglück", ("zug", "unglück")),  # a short part
        ("de", "großbrand", ("groß", "brand")),  # a part that is a stop word by itself; not "Rand"
        ("de", "nachbeben", ("nach", "beben")),
        ("de", "reisende", ("reisende",)),  # "Ende" is an ending here
        ("de", "kondolieren", ("kondolieren",)),
        ("de", "messertat", ("messertat",)),  # no "Mess" and something
        ("de", "verletzte", ("verletzte",)),
        ("de", "göttingen", ("göttingen",)),
        ("nl", "regeringsleider", ("regering", "leider")),
        ("sv", "statsminister", ("statsminister",)),  # more frequent than its parts
        ("sv", "kärnkraftverk", ("kärnkraft", "verk")),
        ("en", "breakingnews", ("breakingnews",)),  # no language of compounds
    ],
)
def test_a_compound_is_its_parts(language, word, parts):
    assert split(word, language) == parts


def test_a_compound_and_its_parts_have_the_same_tokens():
    assert set(tokenise("Moselbrücke", "de")[0]) == set(tokenise("Brücke über die Mosel", "de")[0])


@given(st.sampled_from(sorted(LINKS)), st.data())
def test_all_parts_but_one_stand_in_the_list_and_lie_in_the_word_in_order(language, data):
    some = st.sampled_from(sorted(ranks(language)))
    word = "".join(data.draw(st.lists(some, min_size=1, max_size=4)))
    parts = split(word, language)
    at = 0
    for part in parts:
        at = word.index(part, at) + len(part)
    if len(parts) > 1:
        assert sum(part not in ranks(language) for part in parts) <= 1


@given(st.sampled_from(sorted(LINKS)), st.data())
def test_a_word_is_split_only_into_words_that_are_more_frequent_on_average(language, data):
    word = data.draw(st.sampled_from(sorted(ranks(language))))
    parts = split(word, language)
    known = ranks(language)
    if len(parts) > 1:
        assert math.fsum(math.log(known[part]) for part in parts) / len(parts) < math.log(known[word])


@given(st.text("abes", max_size=60))
def test_any_word_has_parts(word):
    assert all(part in word for part in split(word, "de"))
    assert split(word, "de")
