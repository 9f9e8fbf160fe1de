"""Fixed-point vectors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.similarity.centroids import count_documents, new_centroids, open_group
from pipeline.similarity.items import token_ids
from pipeline.similarity.tfidf import BACKGROUND_FREQUENCY, DOCUMENT_FREQUENCY, UNIT, weigh
from tests.make import unit_vector

texts = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(1, 5), min_size=1, max_size=8)
known = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(1, 500))


def weighed(counts, held, background=None, everywhere=None, documents=1_000):
    """The vector of a text and the idf and rarity of its headline, by the kernel."""
    centroids = new_centroids()
    assert (open_group(centroids), open_group(centroids)) == (BACKGROUND_FREQUENCY, DOCUMENT_FREQUENCY)
    for group, holding in ((BACKGROUND_FREQUENCY, background or {}), (DOCUMENT_FREQUENCY, everywhere or {})):
        count_documents(centroids, group, token_ids(holding), np.array([*holding.values()], np.int64))
    terms, weights = np.empty((3, held)), np.empty(len(counts), np.int64)
    occurring = np.array([[*counts.values()], [0] * len(counts)], np.int64)
    weigh(centroids, token_ids(counts), occurring, held, documents, 0.25, terms, weights)
    return dict(zip(counts, weights.tolist(), strict=True)), terms


@given(texts, known, known, st.data())
def test_the_vector_is_that_of_the_formula(counts, background, everywhere, data):
    held = data.draw(st.integers(0, len(counts)))
    raw, idfs, rarities = {}, [], []
    for number, (token, count) in enumerate(counts.items()):
        holding = background.get(token, 0) + everywhere.get(token, 0) + 1
        idf = math.log(1_002 / (holding + 0.5))
        raw[token] = (1 + math.log(count)) * idf * (1.0 if number < held else 0.25)
        if number < held:
            idfs.append(idf)
            rarities.append(1_000 / holding)
    vector, terms = weighed(counts, held, background, everywhere)
    assert vector == pytest.approx(unit_vector(raw), abs=1)
    assert terms[0].tolist() == pytest.approx(idfs)
    assert terms[1].tolist() == pytest.approx(rarities)


@given(texts)
def test_a_vector_is_one_unit_long(counts):
    vector, _ = weighed(counts, len(counts))
    assert math.hypot(*vector.values()) == pytest.approx(UNIT, rel=1e-4)


def test_the_empty_text_has_the_empty_vector():
    assert weighed({}, 0)[0] == {}


def test_a_rarer_token_and_a_more_frequent_one_weigh_more():
    common = {"common": 400, "twice": 400}
    vector, _ = weighed({"rare": 1, "common": 1, "twice": 2}, 3, common)
    assert vector["rare"] > vector["twice"] > vector["common"] > 0
