"""MinHash against arithmetic in Python's unbounded integers."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.similarity import minhash

tokens = st.sets(st.text(max_size=12), max_size=40)


def reference(words):
    """The definition, one row at a time, without numpy."""
    if not words:
        return [minhash.LARGEST] * minhash.ROWS
    values = [zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in words]
    rows = zip(minhash.A.tolist(), minhash.B.tolist(), strict=True)
    return [min([minhash.LARGEST, *((a * x + b) % minhash.PRIME for x in values)]) for a, b in rows]


@given(tokens.filter(lambda words: all(char < "\ud800" or char > "\udfff" for word in words for char in word)))
def test_a_signature_is_the_exact_minimum_of_each_row(words):
    assert minhash.signature(words).tolist() == reference(words)


def test_newshounds_worked_hash_in_exact_arithmetic():
    # The post says 609,632,658, the answer of IEEE doubles; its b is above the stated maximum and does not fit our rows.
    assert zlib.crc32(b"astronomers") == 2746117606
    assert (1319152729 * 2746117606 + 9549623503) % minhash.PRIME == 609_633_111


def test_newshounds_pairs_have_the_jaccard_similarity_of_their_words_and_not_the_stated_one():
    npr = {"astronomers", "strike", "gravitational", "gold", "colliding", "neutron", "stars"}
    guardian = {"new", "frontier", "science", "astronomers", "witness", "neutron", "stars", "colliding"}
    assert len(npr & guardian) / len(npr | guardian) == pytest.approx(4 / 11)
    estimate = minhash.similarity(minhash.signature(npr), minhash.signature(guardian))
    assert estimate == pytest.approx(4 / 11, abs=0.15)


def test_the_constants_are_the_published_ones():
    assert minhash.A[:3].tolist() == [671199695, 2967694168, 4066599861]
    assert minhash.B[:3].tolist() == [2707626086, 2529763522, 4269134461]
    assert int(minhash.A.min()) > 0
    assert int(minhash.A.max()) < 2**32
    assert int(minhash.B.max()) < 2**32


def test_the_share_of_equal_rows_estimates_jaccard_without_bias():
    left, right = {str(n) for n in range(60)}, {str(n) for n in range(30, 90)}
    estimates = []
    for salt in range(40):
        salted = [{f"{salt}/{word}" for word in words} for words in (left, right)]
        estimates.append(minhash.similarity(*(minhash.signature(words) for words in salted)))
    assert np.mean(estimates) == pytest.approx(30 / 90, abs=0.03)


@given(st.sets(st.sampled_from([str(n) for n in range(99)]), max_size=9))
def test_bytes_keep_a_signature(words):
    signature = minhash.signature(words)
    assert minhash.from_bytes(minhash.to_bytes(signature)).tolist() == signature.tolist()


def test_bytes_of_another_length_are_refused():
    with pytest.raises(ValueError, match="120 values"):
        minhash.from_bytes(b"1234")
