"""Bucket tables: newest by time, whatever the order of arrival."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.similarity.buckets import BucketTables, band_keys

BANDS = 3
entries = st.lists(
    st.tuples(st.integers(0, 50), st.lists(st.integers(0, 2), min_size=BANDS, max_size=BANDS)), max_size=40
)


def keys_of(values):
    return [bytes([value]) for value in values]


def filled(stories, capacity):
    tables = BucketTables(BANDS, capacity)
    for number, (time, values) in stories:
        tables.insert(keys_of(values), time, f"s{number:03}")
    return tables


def reference(stories, values, since, capacity):
    """What a query should find: in each band the newest items of the bucket, by (time, name)."""
    found = {}
    for band in range(BANDS):
        bucket = sorted((time, f"s{number:03}") for number, (time, keys) in stories if keys[band] == values[band])
        for time, item in bucket[-capacity:]:
            if time >= since:
                found[item] = found.get(item, 0) + 1
    return found


@given(entries, st.lists(st.integers(0, 2), min_size=BANDS, max_size=BANDS), st.integers(0, 50), st.randoms())
def test_a_query_finds_the_newest_of_each_bucket_in_any_order_of_arrival(stories, values, since, random):
    numbered = list(enumerate(stories))
    expected = reference(numbered, values, since, 4)
    random.shuffle(numbered)
    assert filled(numbered, 4).query(keys_of(values), since) == expected


@given(entries, st.lists(st.integers(0, 2), min_size=BANDS, max_size=BANDS), st.integers(0, 50))
def test_tables_without_the_old_items_answer_as_those_with_them(stories, values, since):
    numbered = list(enumerate(stories))
    kept = [story for story in numbered if story[1][0] >= since]
    assert filled(kept, 4).query(keys_of(values), since) == filled(numbered, 4).query(keys_of(values), since)


@given(entries)
def test_removing_every_item_leaves_nothing(stories):
    tables = filled(enumerate(stories), 4)
    for number, (time, values) in enumerate(stories):
        tables.remove(keys_of(values), time, f"s{number:03}")
    assert all(not table for table in tables.tables)


def test_a_bucket_is_bounded():
    tables = filled(((number, (number, [0, 0, 0])) for number in range(1000)), 10)
    assert all(len(bucket) == 10 for table in tables.tables for bucket in table.values())


@given(
    st.lists(st.integers(0, 2**32 - 1), min_size=12, max_size=12),
    st.lists(st.integers(0, 2**32 - 1), min_size=12, max_size=12),
)
def test_band_keys_are_equal_exactly_where_the_rows_of_the_band_are(left, right):
    keys = [band_keys(np.array(values, np.uint32), 4, 3) for values in (left, right)]
    for band in range(4):
        rows = slice(3 * band, 3 * band + 3)
        assert (keys[0][band] == keys[1][band]) == (left[rows] == right[rows])
