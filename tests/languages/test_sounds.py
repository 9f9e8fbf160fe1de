"""Sounds: a name is the same in all scripts that spell it, as far as consonants go."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.languages.sounds import CLASSES, sounds


@pytest.mark.parametrize(
    "spelled",
    [
        ["Legnitza", "Легница", "Леґніца", "レグニツァ"],
        ["Peru", "Perú", "Перу", "ペルー", "페루", "पेरू"],
        ["Arequipa", "Арекипа", "アレキパ", "아레키파", "أريكيبا"],
        ["Groningen", "Гронинген"],
        ["Müller", "MULLER"],
    ],
)
def test_a_name_sounds_the_same_in_all_scripts(spelled):
    assert len({sounds(name) for name in spelled}) == 1


@pytest.mark.parametrize("word", ["", "42", "aeiou", "…"])
def test_what_has_no_consonants_has_no_sound(word):
    assert sounds(word) == ""


@given(st.text(max_size=60))
def test_sounds_are_classes_and_no_class_comes_twice_in_a_row(word):
    found = sounds(word)
    assert set(found) <= set(CLASSES)
    assert all(left != right for left, right in pairwise(found))
