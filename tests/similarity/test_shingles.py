"""Shingles and their similarity: compiled code against sets of strings."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpus.canonical import canonical
from pipeline.similarity.shingles import jaccard, shingles
from pipeline.similarity.shingles_compiled import common, cut, index, new_shingles

units = st.sampled_from(["characters", "words"])
texts = st.text(
    st.one_of(st.sampled_from("ab "), st.sampled_from("éßж語𝔘"), st.characters(exclude_categories=["Cs"])), max_size=60
)


def array(text):
    return np.frombuffer(text.encode(), np.uint8)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5), st.integers(1, 9), units)
def test_common_and_different_shingles_are_counted_exactly(pairs, width, unit):
    room, other = (new_shingles(width, words=unit == "words") for _ in range(2))
    for pair in pairs:  # the same room for text after text
        left, right = (canonical(text, unit) for text in pair)
        cut(room, array(left))
        index(room, array(left))
        cut(other, array(right))
        assert room.size == len(shingles(left, width, unit))
        both = len(shingles(left, width, unit) & shingles(right, width, unit))
        assert common(room, array(left), other, array(right)) == both
        assert common(room, array(left), other, array(right)) == both


def test_two_shingles_with_one_checksum_are_told_apart():
    left, right = "plumless", "buckeroo"  # CRC-32 4ddb0c25 of both
    room, other = (new_shingles(8, words=False) for _ in range(2))
    cut(room, array(left))
    index(room, array(left))
    cut(other, array(right))
    assert room.checksums[0] == other.checksums[0]
    assert common(room, array(left), other, array(right)) == 0


def test_a_long_text_grows_the_room():
    text = " ".join(str(number) for number in range(20_000))
    room = new_shingles(5, words=False)
    cut(room, array("short"))
    cut(room, array(text))
    index(room, array(text))
    assert room.size == len(shingles(text, 5))


@given(st.sets(st.integers(0, 9).map(str)), st.sets(st.integers(0, 9).map(str)))
def test_jaccard_is_symmetric_and_one_for_equal_sets(left, right):
    assert jaccard(left, right) == jaccard(right, left)
    assert (jaccard(left, right) == 1) == (left == right and bool(left))
