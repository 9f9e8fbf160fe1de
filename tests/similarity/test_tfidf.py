"""Fixed-point vectors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.similarity.centroids import SPREAD, count_documents, new_centroids, open_group, place
from pipeline.similarity.items import token_ids
from pipeline.similarity.tfidf import BACKGROUND_FREQUENCY, DOCUMENT_FREQUENCY, UNIT, weigh
from tests.make import unit_vector

texts = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(1, 5), min_size=1, max_size=8)
known = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(1, 300))
spreads = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(1, 200))


PRIOR, SHARE = 100.0, 0.15
BACKGROUND, STREAM, SPREAD_OF_ALL = 600, 399, 200


def weighed(counts, held, background=None, everywhere=None, spread=None):
    """The vector of a text and the idf and rarity of its headline, by the kernel."""
    centroids = new_centroids()
    assert (open_group(centroids), open_group(centroids)) == (BACKGROUND_FREQUENCY, DOCUMENT_FREQUENCY)
    for group, holding in ((BACKGROUND_FREQUENCY, background or {}), (DOCUMENT_FREQUENCY, everywhere or {})):
        count_documents(centroids, group, token_ids(holding), np.array([*holding.values()], np.int64))
    for token, of_token in (spread or {}).items():
        ids = token_ids([token])
        count_documents(centroids, DOCUMENT_FREQUENCY, ids, np.array([0]))
        centroids.entries[place(centroids.owners, DOCUMENT_FREQUENCY, ids[0]), SPREAD] = of_token
    terms, weights = np.empty((3, held)), np.empty(len(counts), np.int64)
    occurring = np.array([[*counts.values()], [0] * len(counts)], np.int64)
    weigh(
        centroids,
        token_ids(counts),
        occurring,
        held,
        BACKGROUND,
        STREAM,
        SPREAD_OF_ALL,
        PRIOR,
        SHARE,
        0.25,
        terms,
        weights,
    )
    return dict(zip(counts, weights.tolist(), strict=True)), terms


@given(texts, known, known, spreads, st.data())
def test_the_vector_is_that_of_the_formula(counts, background, everywhere, spread, data):
    held = data.draw(st.integers(0, len(counts)))
    raw, idfs, rarities = {}, [], []
    for number, (token, count) in enumerate(counts.items()):
        share = spread.get(token, 0) / (SPREAD_OF_ALL + PRIOR)
        holding = max(background.get(token, 0) + everywhere.get(token, 0) + 1, 1_000 * (share - SHARE))
        idf = math.log(1_002 / (holding + 0.5))
        raw[token] = (1 + math.log(count)) * idf * (1.0 if number < held else 0.25)
        if number < held:
            idfs.append(idf)
            rarities.append(1_000 / holding)
    vector, terms = weighed(counts, held, background, everywhere, spread)
    assert vector == pytest.approx(unit_vector(raw), abs=1)
    assert terms[0].tolist() == pytest.approx(idfs)
    assert terms[1].tolist() == pytest.approx(rarities)


def test_a_word_that_all_clusters_hold_weighs_less_than_one_of_a_large_cluster():
    held = {"subject": 100, "event": 100}
    vector, _ = weighed({"subject": 1, "event": 1}, 2, everywhere=held, spread={"subject": 150, "event": 7})
    assert vector["event"] > 2 * vector["subject"]


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
