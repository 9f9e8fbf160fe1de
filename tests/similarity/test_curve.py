"""Curves: the formulas against simulation and exact counting."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.similarity import minhash, simhash
from pipeline.similarity.buckets import band_keys, xor_keys
from pipeline.similarity.curve import block_probe, block_recall, candidate_probability


@pytest.mark.parametrize(
    ("jaccard", "bands", "rows", "expected"),
    [(0.18, 40, 3, 0.21), (0.30, 40, 3, 0.67), (0.50, 40, 3, 0.995), (0.148, 60, 2, 0.735)],
)
def test_the_s_curve(jaccard, bands, rows, expected):
    assert candidate_probability(np.array([jaccard]), bands, rows)[0] == pytest.approx(expected, abs=0.005)


def test_pairs_share_bands_as_often_as_the_curve_says():
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(400):
        words = [f"w{number}" for number in rng.integers(0, 10**9, 10)]
        left, right = minhash.signature(words[:7]), minhash.signature(words[3:])  # Jaccard similarity 4 / 10
        found += bool(np.any(band_keys(left, 24, 5) == band_keys(right, 24, 5)))
    expected = candidate_probability(np.array([0.4]), 24, 5)[0]
    assert found / 400 == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize(
    ("blocks", "bits", "recall"),
    [
        (simhash.BLOCKS_8_X_8, 7, 1.0),
        (simhash.BLOCKS_4_X_16, 3, 1.0),
        (simhash.BLOCKS_4_X_16, 7, 0.44),
        (simhash.BLOCKS_5_X_13, 4, 1.0),
        (simhash.BLOCKS_5_X_13, 7, 0.75),
    ],
)
def test_what_hu_and_you_say_is_guaranteed_is_not_with_fewer_blocks_than_bits(blocks, bits, recall):
    """They call pairs to 7 bits similar, and promise to find them with 8, 4 and 5 blocks."""
    assert sum(blocks) == simhash.BITS
    assert float(block_recall(blocks, bits)) == pytest.approx(recall, abs=0.01)


def test_what_a_probe_of_each_plan_finds_among_eight_million():
    stored = 2**23
    assert block_probe(simhash.BLOCKS_8_X_8, stored) == 262_144
    assert block_probe(simhash.BLOCKS_4_X_16, stored) == 512
    assert (
        block_probe(simhash.BLOCKS_5_X_13, stored) == 4 * 1024 + 2048
    )  # the paper says 5,120: its fifth block has 12 bits


@given(st.integers(0, 4))
def test_block_recall_is_the_share_of_all_ways_to_differ(bits):
    blocks = (2, 3, 3)
    ways = list(combinations(range(8), bits))
    bounds = [range(2), range(2, 5), range(5, 8)]
    found = sum(any(not set(flipped) & set(bound) for bound in bounds) for flipped in ways)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.similarity.curve.BITS", 8)
        assert block_recall(blocks, bits) == Fraction(found, len(ways))


@given(st.integers(0, 2**64 - 1))
def test_block_keys_are_the_fingerprint_cut(value):
    for blocks in (simhash.BLOCKS_8_X_8, simhash.BLOCKS_4_X_16, simhash.BLOCKS_5_X_13):
        together = 0
        for bits, key in zip(blocks, simhash.block_keys(value, blocks).tolist(), strict=True):
            together = together << bits | key
        assert together == value


def test_newshounds_xor_is_of_the_rows_of_a_band():
    signature = np.arange(120, dtype=np.uint32)
    assert xor_keys(signature, 40, 3)[:2].tolist() == [0 ^ 1 ^ 2, 3 ^ 4 ^ 5]
