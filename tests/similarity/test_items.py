"""Items: exact Jaccard similarity, and the best first."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.similarity import items as kernels
from pipeline.similarity.buckets import MIN_SLOTS
from pipeline.similarity.items import WIDTH, groups_of, new_items, simhashes_of, token_ids

sets = st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=6)


def put(table, number, ids, group, oldest):
    kernels.put(table, oldest, number, ids, number << 39 | 2**32 - 1 - number, group)


def rank(table, candidates, ids, least_shared, least, most):
    scores, best = np.empty(most), np.empty(most, np.int64)
    count = kernels.rank(table, *candidates, ids[:WIDTH], least_shared, least, scores, best)
    return list(zip(scores[:count].tolist(), best[:count].tolist(), strict=True))


@given(st.lists(sets, min_size=1, max_size=30), sets, st.integers(1, 5))
def test_the_most_similar_come_first_and_of_equal_ones_the_earliest(items, wanted, most):
    table = new_items(MIN_SLOTS)
    for number, item in enumerate(items):
        put(table, number, token_ids(sorted(item)), number % 3, 0)
    numbers, shared = np.arange(len(items)), np.arange(len(items)) % 4
    ranked = rank(table, (numbers, shared), token_ids(sorted(wanted)), 2, 0.25, most)
    scores = [
        (round(len(item & wanted) / len(item | wanted), 4), number)
        for number, item in enumerate(items)
        if number % 4 >= 2
    ]
    assert ranked == sorted((pair for pair in scores if pair[0] >= 0.25), key=lambda pair: (-pair[0], pair[1]))[:most]


def test_the_ring_grows_and_slots_are_used_again():
    table = new_items(MIN_SLOTS)
    for number in range(5_000):
        put(table, number, token_ids([str(number), "x"]), number, max(0, number - 2_000))
    numbers = np.arange(3_000, 5_000)
    assert groups_of(table, numbers).tolist() == numbers.tolist()
    assert rank(table, (numbers, np.full(2_000, 9)), token_ids(["4321", "x"]), 1, 0.9, 10) == [(1.0, 4321)]
    assert simhashes_of(table, np.array([4_321])).tolist() == [4_321 << 39 | 2**32 - 1 - 4_321]
    kernels.move(table, np.array([2_000, 4_000, 4_001]), 3_000, 7)
    assert groups_of(table, np.array([3_999, 4_000, 4_001])).tolist() == [3_999, 7, 7]


def test_long_sets_are_compared_by_their_beginning():
    table = new_items(MIN_SLOTS)
    long = [f"w{n}" for n in range(100)]
    put(table, 0, token_ids(long), 0, 0)
    one = (np.zeros(1, np.int64), np.ones(1, np.int64))
    assert rank(table, one, token_ids(long[:WIDTH]), 1, 0.5, 1) == [(1.0, 0)]


def test_token_ids_are_crc_32():
    # Newshound's worked values; its two examples give "injured" two different ones.
    assert token_ids(["astronomers", "strike"]).tolist() == [2746117606, 231155648]
