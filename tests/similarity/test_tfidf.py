"""Fixed-point vectors."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.similarity.tfidf import UNIT, damped, dot, inverse_document_frequencies, unit_vector

texts = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(1, 5), min_size=1)
vectors = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(1, UNIT))


@given(texts)
def test_a_unit_vector_is_one_unit_long(counts):
    vector = unit_vector({token: damped(count) for token, count in counts.items()})
    assert math.sqrt(dot(vector, vector)) == pytest.approx(UNIT, rel=1e-4)


def test_the_empty_text_has_the_empty_vector():
    assert unit_vector({}) == {}


def test_a_rarer_token_and_a_more_frequent_one_weigh_more():
    vector = unit_vector({"rare": 5.0, "common": 1.0, "twice": damped(2)})
    assert vector["rare"] > vector["twice"] > vector["common"] > 0


@given(vectors, vectors)
def test_dot_is_symmetric_and_exact(left, right):
    assert dot(left, right) == dot(right, left) == sum(left.get(key, 0) * right.get(key, 0) for key in {*left, *right})


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_idf_is_positive_and_falls_with_use(documents, holding):
    holding = min(holding, documents)
    here, more = inverse_document_frequencies(documents, [holding, holding + 1])
    assert here > more
    assert here > 0
