"""The text as it is compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpus.canonical import canonical


@given(st.text(max_size=40), st.sampled_from(["characters", "words"]))
def test_white_space_is_one_space_between(text, unit):
    found = canonical(text, unit)
    assert found == " ".join(found.split())


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("  The  CAT\tsat\n", "characters", "the cat sat"),
        ("\uff26\uff55\uff4c\uff4c \ufb01le", "characters", "full file"),
        ("\u201cCats\u201d \u2013 and dogs!", "words", "cats and dogs"),
        ("STRASSE Straße", "characters", "strasse strasse"),
    ],
)
def test_texts_are_compared_without_case_width_and_spaces(text, unit, expected):
    assert canonical(text, unit) == expected
