"""The join: against a comparison of all pairs."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.similarity.join import connect, first_copies, flatten, join, runs, similarities
from pipeline.similarity.shingles import jaccard, shingles
from pipeline.similarity.sign_texts import Scheme, pack, sign_texts

SCHEME = Scheme("characters", 2, 6, 1, 6)
texts = st.lists(st.text(st.sampled_from("abcd"), max_size=9), max_size=25)
levels = st.sampled_from([0.2, 0.5, 0.8, 1.0])


def candidates(signed):
    """The pairs that share a band, by definition."""
    pairs = combinations(np.flatnonzero(signed.sizes).tolist(), 2)
    return {(a, b) for a, b in pairs if (signed.keys[:-1, a] == signed.keys[:-1, b]).any()}


def edges_of(found, signed, packed, least, parts, parents=None):
    edges = []
    for band in range(SCHEME.bands):
        for part in range(parts):
            own = None if parents is None else parents.copy()
            sorted_keys = runs(signed.keys[band], signed.sizes > 0, part, parts)
            edges.append(join(sorted_keys, band, signed.keys, signed.sizes, packed, SCHEME, least, own))
        if parents is not None:
            for each in edges[-parts:]:
                connect(parents, each)
    return np.concatenate(edges)


@given(texts, levels, st.integers(1, 5))
@settings(deadline=None)
def test_each_similar_pair_that_shares_a_band_is_found_once(found, least, parts):
    packed = pack(found)
    signed = sign_texts(packed, SCHEME)
    edges = edges_of(found, signed, packed, least, parts).tolist()
    sets = [shingles(text, 2) for text in found]
    assert sorted((a, b) for a, b, _, _ in edges) == sorted(
        (a, b) for a, b in candidates(signed) if jaccard(sets[a], sets[b]) >= least
    )
    assert all((shared, whole) == (len(sets[a] & sets[b]), len(sets[a] | sets[b])) for a, b, shared, whole in edges)


@given(texts, levels, st.integers(1, 5))
@settings(deadline=None)
def test_groups_are_those_of_all_pairs(found, least, parts):
    packed = pack(found)
    signed = sign_texts(packed, SCHEME)
    every, few = (np.arange(len(found), dtype=np.int32) for _ in range(2))
    connect(every, edges_of(found, signed, packed, least, parts))
    edges_of(found, signed, packed, least, parts, few)
    flatten(every)
    flatten(few)
    assert few.tolist() == every.tolist()
    assert all(every[number] <= number for number in range(len(found)))


@given(texts, st.integers(1, 5))
@settings(deadline=None)
def test_copies_are_the_texts_that_are_equal(found, parts):
    packed = pack(found)
    signed = sign_texts(packed, SCHEME)
    signed.keys[-1] %= 3  # checksums that many texts have
    first = np.arange(len(found), dtype=np.int32)
    for part in range(parts):
        first_copies(runs(signed.keys[-1], signed.sizes > 0, part, parts), packed, first)
    assert first.tolist() == [found.index(text) if text else number for number, text in enumerate(found)]


@given(texts, levels)
@settings(deadline=None)
def test_estimates_are_shares_of_equal_rows(found, least):
    packed = pack(found)
    signed = sign_texts(packed, SCHEME, keep=True)
    edges = [
        join(runs(signed.keys[band], signed.sizes > 0, 0, 1), band, signed.keys, signed.sizes, packed, SCHEME, least,
             signatures=signed.signatures)
        for band in range(SCHEME.bands)
    ]  # fmt: skip
    shares = {(a, b): (signed.signatures[a] == signed.signatures[b]).sum() for a, b in candidates(signed)}
    assert sorted((a, b, shared) for a, b, shared, _ in np.concatenate(edges).tolist()) == sorted(
        (a, b, int(shared)) for (a, b), shared in shares.items() if shared / SCHEME.size >= least
    )


@given(texts.filter(bool), st.randoms())
@settings(deadline=None)
def test_similarities_are_of_the_pairs_that_are_given(found, random):
    packed = pack(found)
    signed = sign_texts(packed, SCHEME)
    pairs = [(random.randrange(len(found)), random.randrange(len(found))) for _ in range(10)]
    for a, b, shared, whole in similarities(np.array(pairs, np.int64), signed.sizes, packed, SCHEME).tolist():
        left, right = shingles(found[a], 2), shingles(found[b], 2)
        assert (shared, whole) == (len(left & right), len(left | right))
