"""MinHash against arithmetic in Python's unbounded integers."""

import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pipeline.similarity import minhash, minhash_compiled, universal

ordinary = st.characters(exclude_categories=["Cs"])
words = st.text(st.one_of(st.sampled_from("\0\1ab"), ordinary), max_size=12)
tokens = st.one_of(st.sets(words, max_size=40), st.lists(words, max_size=40))


@pytest.fixture(params=[True, False], ids=["compiled", "numpy"])
def _either_way(request, monkeypatch):
    monkeypatch.setattr(minhash, "COMPILED", minhash.COMPILED and request.param)


def reference(words):
    """The definition, one row at a time, in Python's integers."""
    values = [zlib.crc32(word.encode()) for word in words]
    rows = zip(universal.A.tolist(), universal.B.tolist(), strict=True)
    return [min([universal.LARGEST, *((a * x + b) % universal.PRIME for x in values)]) for a, b in rows]


both_ways = pytest.mark.usefixtures("_either_way")
thorough = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@both_ways
@given(tokens)
@thorough
def test_a_signature_is_the_exact_minimum_of_each_row(words):
    assert minhash.signature(words).tolist() == reference(words)


@both_ways
@given(st.lists(tokens, max_size=8))
@example([{""}, {"0\0000"}])
@thorough
def test_signatures_are_those_of_each_text(texts):
    assert minhash.signatures(texts).tolist() == [reference(words) for words in texts]


@both_ways
@given(st.text(st.one_of(st.sampled_from("abc"), ordinary), max_size=60), st.integers(1, 12))
@thorough
def test_shingles_are_the_runs_of_so_many_characters(text, width):
    runs = {text[start : start + width] for start in range(max(1, len(text) - width + 1))} if text else set()
    assert minhash.shingled(text, width).tolist() == reference(runs)


@both_ways
def test_a_huge_text_has_a_signature():
    words = [f"w{n}" for n in range(5_000)]
    assert minhash.signature(words).tolist() == reference(words)


@pytest.mark.parametrize("residue", [0, 1, 224, 239, 240, 2**32 - 1, 2**32, 2**32 + 14])
def test_residues_are_exact_where_the_short_cut_is_not(residue):
    found = 0
    for row in range(universal.ROWS):
        a, b = int(universal.A[row]), int(universal.B[row])
        x = (residue - b) * pow(a, -1, universal.PRIME) % universal.PRIME
        if x < 2**32:
            found += 1
            signature = np.empty(universal.ROWS, np.uint32)
            minhash_compiled.sign(np.array([x], np.uint32), signature)
            assert signature[row] == min(residue, universal.LARGEST)
    assert found > universal.ROWS // 2


def test_newshounds_worked_hash_in_exact_arithmetic():
    # The post says 609,632,658, the answer of IEEE doubles; its b is above the stated maximum and does not fit our rows.
    assert zlib.crc32(b"astronomers") == 2746117606
    assert (1319152729 * 2746117606 + 9549623503) % universal.PRIME == 609_633_111


def test_newshounds_pairs_have_the_jaccard_similarity_of_their_words_and_not_the_stated_one():
    npr = {"astronomers", "strike", "gravitational", "gold", "colliding", "neutron", "stars"}
    guardian = {"new", "frontier", "science", "astronomers", "witness", "neutron", "stars", "colliding"}
    assert len(npr & guardian) / len(npr | guardian) == pytest.approx(4 / 11)
    estimate = minhash.similarity(minhash.signature(npr), minhash.signature(guardian))
    assert estimate == pytest.approx(4 / 11, abs=0.15)


def test_the_constants_are_the_published_ones():
    assert universal.A[:3].tolist() == [671199695, 2967694168, 4066599861]
    assert universal.B[:3].tolist() == [2707626086, 2529763522, 4269134461]
    assert int(universal.A.min()) > 0
    assert int(universal.A.max()) < 2**32
    assert int(universal.B.max()) < 2**32


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
