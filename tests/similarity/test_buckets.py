"""Bucket tables: the newest of each bucket, and nothing of what no longer counts; compiled or not."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.similarity import buckets
from pipeline.similarity.buckets import BucketTables, band_keys, xor_keys
from tests.make import uncompiled

BANDS = 3
keys = st.lists(st.integers(0, 2), min_size=BANDS, max_size=BANDS).map(lambda values: np.array(values, np.int64))
rows = st.lists(st.integers(0, 2**32 - 1), min_size=12, max_size=12)


def reference(items, wanted, oldest, capacity):
    """What a query should find: in each band the newest items of the bucket, as far as they count."""
    found = {}
    for band in range(BANDS):
        bucket = [number for number, item in enumerate(items) if item[band] == wanted[band] and number >= oldest]
        for number in bucket[-capacity:]:
            found[number] = found.get(number, 0) + 1
    return found


def found(tables, wanted):
    return dict(zip(*(values.tolist() for values in tables.query(wanted)), strict=True))


@given(st.lists(keys, max_size=40), keys, st.integers(0, 45))
def test_a_query_finds_the_newest_that_count_of_each_bucket(items, wanted, oldest):
    tables = BucketTables(BANDS, 4)
    for item in items:
        tables.insert(item)
    tables.forget(oldest)
    assert found(tables, wanted) == reference(items, wanted, oldest, 4)


@given(st.lists(st.tuples(keys, st.integers(0, 3)), max_size=60), keys)
def test_slots_that_are_used_again_hold_nothing_of_the_past(items, wanted):
    tables, oldest = BucketTables(BANDS, 4, slots=4), 0
    for number, (item, forgotten) in enumerate(items):
        assert found(tables, wanted) == reference([key for key, _ in items[:number]], wanted, oldest, 4)
        assert tables.insert(item) == number
        oldest = min(number + 1, oldest + forgotten)
        tables.forget(oldest)


def test_the_kernels_find_the_same_uncompiled(monkeypatch):
    rng = np.random.default_rng(7)
    signatures = rng.integers(0, 3, (300, 120)).astype(np.uint32)
    compiled = BucketTables(60, 10)
    expected = []
    for signature in signatures:
        own = band_keys(signature, 60, 2)
        expected.append((found(compiled, own), compiled.insert(own)))
    uncompiled(monkeypatch, buckets)
    plain = BucketTables(60, 10)
    for signature, answer in zip(signatures, expected, strict=True):
        own = buckets.band_keys(signature, 60, 2)
        assert (found(plain, own), plain.insert(own)) == answer


@given(rows, rows)
def test_band_keys_are_equal_where_the_rows_of_the_band_are(left, right):
    left_keys, right_keys = (band_keys(np.array(values, np.uint32), 4, 3) for values in (left, right))
    for band in range(4):
        rows = slice(3 * band, 3 * band + 3)
        assert left_keys[band] == right_keys[band] or left[rows] != right[rows]


@given(rows)
def test_band_keys_are_exact(values):
    expected = []
    for band in range(4):
        key = 0
        for row in values[3 * band : 3 * band + 3]:
            key = (key * buckets.MULTIPLIER + row) % buckets.PRIME
        expected.append(key % 2**32)
    assert band_keys(np.array(values, np.uint32), 4, 3).tolist() == expected


def test_xor_keys_do_not_see_the_order_of_rows():
    assert xor_keys(np.array([1, 2, 4, 2, 4, 1], np.uint32), 2, 3).tolist() == [7, 7]
