"""MinHash and SimHash for libraries: exact, and estimates as theory says."""

import doctest
import math

import numpy as np
import pytest

from pipeline.similarity import MinHash, SimHash, indexes, minhash, shingles, transformers
from pipeline.similarity.universal import ROWS


@pytest.mark.parametrize("module", [transformers, indexes, shingles], ids=lambda module: module.__name__)
def test_the_examples_are_true(module):
    assert doctest.testmod(module).failed == 0


def test_signatures_are_those_of_stories():
    sets = [{"a", "b"}, set(), {"c"}]
    assert MinHash().transform(sets).tolist() == minhash.signatures([*map(list, sets)]).tolist()
    assert MinHash().size == ROWS


def pairs(count, common, every, seed):
    """Pairs of sets of random tokens with so many in common, of so many that both have."""
    choose = np.random.default_rng(seed)
    for _ in range(count):
        tokens = [f"{number:x}" for number in choose.integers(0, 2**60, every)]
        own = (every - common) // 2
        yield set(tokens[: common + own]), set(tokens[:common] + tokens[common + own :])


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("common", "every"), [(3, 10), (20, 40), (160, 200), (19, 20)])
def test_estimates_are_unbiased_with_the_variance_of_a_binomial(common, every, seed):
    count, family, jaccard = 3_000, MinHash(size=128, seed=seed), common / every
    found = np.array([family.similarity(*family.transform(sets)) for sets in pairs(count, common, every, seed=every)])
    error = family.standard_error(jaccard)
    assert abs(found.mean() - jaccard) < 4 * error / math.sqrt(count)
    assert found.var() / error**2 == pytest.approx(
        1, abs=0.12
    )  # of 3,000, four deviations are 4 * sqrt(2 / 3000) = .10


def test_bits_of_fingerprints_differ_as_often_as_the_angle_says():
    shared, apart = 30, 10
    differing = [
        SimHash.distance(*SimHash().transform([[*left], [*right]]))
        for left, right in pairs(400, shared, shared + 2 * apart, seed=2)
    ]
    angle = math.acos(shared / (shared + apart))
    expected = 64 * angle / math.pi
    assert np.mean(differing) == pytest.approx(expected, rel=0.05)


def test_weights_count():
    heavy, light = SimHash().transform([{"a": 9, "b": 1}, ["a"]])
    assert heavy == light


def test_what_cannot_be_is_said():
    with pytest.raises(ValueError, match="1 to 1,000,000 rows, not 0"):
        MinHash(size=0)
    with pytest.raises(ValueError, match="not \\(10,\\) and \\(20,\\)"):
        MinHash.similarity(*(MinHash(size=size).transform([{"a"}])[0] for size in (10, 20)))
    with pytest.raises(TypeError, match="A list is wanted, with an item for each text; this is one str"):
        MinHash().transform("a b")
    with pytest.raises(ValueError, match="from 0 to 1, not 2"):
        MinHash().standard_error(2)
    with pytest.raises(ValueError, match="at least one of the words, not 0"):
        MinHash().transform_texts(["a"], 0, "words")
