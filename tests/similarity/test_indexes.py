"""Indexes: against a comparison with every item, saved and loaded."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.similarity import BandIndex, BlockIndex, MinHash
from pipeline.similarity.buckets import band_keys
from pipeline.similarity.curve import candidate_probability

sets = st.lists(st.sets(st.sampled_from("abcdefgh")), min_size=1, max_size=100)
fingerprints = st.lists(st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 255)), max_size=100)


@given(sets, st.integers(1, 8), st.integers(1, 3), st.integers(0, 5))
@settings(deadline=None)
def test_a_query_finds_what_shares_a_band(found, bands, rows, later):
    signatures = MinHash(size=24).transform(found)
    at_once = max(0, len(found) - later)
    index = BandIndex(bands, rows).fit(signatures[:at_once])
    for signature in signatures[at_once:]:
        index.add(signature)
    keys = np.array([band_keys(signature, bands, rows) for signature in signatures])
    for signature, own in zip(signatures, keys, strict=True):
        shared = (keys == own).sum(axis=1)
        numbers, counts = index.query(signature)
        assert numbers.tolist() == np.flatnonzero(shared).tolist()
        assert counts.tolist() == shared[shared > 0].tolist()


@given(sets)
@settings(deadline=None)
def test_a_band_index_that_was_saved_answers_as_before(tmp_path_factory, found):
    path = tmp_path_factory.mktemp("index") / "bands.npz"
    signatures = MinHash(size=24).transform(found)
    index = BandIndex(8, 3).fit(signatures)
    index.save(path)
    loaded = BandIndex.load(path)
    assert len(loaded) == len(index)
    for signature in signatures:
        assert [each.tolist() for each in loaded.query(signature)] == [each.tolist() for each in index.query(signature)]


@given(fingerprints, st.lists(st.integers(0, 2**64 - 1), max_size=5), st.integers(0, 7))
@settings(deadline=None)
def test_a_query_finds_all_within_so_many_bits(tmp_path_factory, stored, more, bits):
    path = tmp_path_factory.mktemp("index") / "blocks.npz"
    index = BlockIndex().fit(np.array(stored, np.uint64))
    for fingerprint in more:
        index.add(fingerprint)
    index.save(path)
    for fingerprint in [*stored, 0]:
        wanted = [n for n, there in enumerate([*stored, *more]) if (there ^ fingerprint).bit_count() <= bits]
        assert index.query(fingerprint, bits).tolist() == wanted
        assert BlockIndex.load(path).query(fingerprint, bits).tolist() == wanted
    assert index.fingerprints.tolist() == [*stored, *more]


def test_an_index_for_a_similarity_finds_as_many_as_was_asked():
    index = BandIndex.for_similarity(0.8, 0.99)
    assert candidate_probability(np.array([0.8]), index.bands, index.rows)[0] >= 0.99
    assert index.bands * index.rows <= 120


def test_what_cannot_be_is_said(tmp_path):
    with pytest.raises(ValueError, match="not 300 x 1"):
        BandIndex(300, 1)
    with pytest.raises(ValueError, match="10 bands of 3 rows need 30; this has 24"):
        BandIndex(10, 3).fit(MinHash(size=24).transform([{"a"}]))
    with pytest.raises(ValueError, match="0 to 7"):
        BlockIndex().fit([1]).query(1, 8)
    (tmp_path / "text").write_text("no index")
    with pytest.raises(ValueError, match="text is no index"):
        BandIndex.load(tmp_path / "text")
    BlockIndex().fit([1]).save(tmp_path / "blocks")
    with pytest.raises(ValueError, match="no index of this kind: it has bits, fingerprints"):
        BandIndex.load(tmp_path / "blocks")


@pytest.mark.parametrize("signature", [[1] * 24, np.zeros(24), np.zeros(24, np.int64), np.zeros((2, 24), np.uint32)])
def test_what_is_no_signature_is_refused(signature):
    index = BandIndex(4, 6)
    with pytest.raises(ValueError, match="unsigned 32-bit integers"):
        index.query(signature)
    with pytest.raises(ValueError, match="unsigned 32-bit integers|shape"):
        index.fit([signature])


@pytest.mark.parametrize("fingerprints", [[-1], [1.5], [2**64], np.zeros((2, 2), np.uint64)])
def test_what_is_no_fingerprint_is_refused(fingerprints):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        BlockIndex().fit(fingerprints)


def test_a_damaged_index_is_refused(tmp_path):
    for keys in (np.zeros((3, 2), np.uint32), np.zeros((3, 4)), np.zeros(4, np.uint32)):
        np.savez(tmp_path / "bands.npz", shape=np.array([4, 6]), keys=keys)
        with pytest.raises(ValueError, match="no index of bands, or is damaged"):
            BandIndex.load(tmp_path / "bands.npz")
    np.save(tmp_path / "array.npy", np.zeros(3))
    with pytest.raises(ValueError, match="array.npy is no index"):
        BandIndex.load(tmp_path / "array.npy")
