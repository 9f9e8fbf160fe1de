"""Shingles of long texts."""

from hypothesis import given
from hypothesis import strategies as st

from pipeline.similarity.shingles import LONGEST, shingles


@given(st.text(min_size=9, max_size=100))
def test_every_run_of_nine_characters_is_a_shingle(text):
    lower = text[:LONGEST].lower()
    assert shingles(text) == {lower[start : start + 9] for start in range(len(lower) - 8)}


def test_a_short_text_is_its_own_shingle_and_an_empty_one_has_none():
    assert shingles("Quake") == {"quake"}
    assert shingles("") == set()


def test_long_texts_are_cut():
    assert len(shingles("".join(map(chr, range(0x4E00, 0x4E00 + 20_900))) * 3)) == LONGEST - 8
