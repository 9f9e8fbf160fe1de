"""Nearby: all that is near enough and nothing else, against a look at every fingerprint."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.similarity import simhash
from pipeline.similarity.nearby import CELLS, Nearby

base = st.sampled_from([0, 2**64 - 1, 0x0123_4567_89AB_CDEF])
flips = st.sets(st.integers(0, 63), max_size=9)
fingerprints = st.tuples(base, flips).map(lambda pair: pair[0] ^ sum(1 << bit for bit in pair[1]))


def index(values):
    nearby = Nearby()
    assert [nearby.add(value) for value in values] == list(range(len(values)))
    return nearby


@given(st.lists(fingerprints, max_size=60), fingerprints, st.integers(0, 7))
@settings(deadline=None)
def test_a_query_finds_all_within_so_many_bits(values, wanted, bits):
    expected = [item for item, value in enumerate(values) if simhash.distance(value, wanted) <= bits]
    assert index(values).query(wanted, bits).tolist() == expected


@given(st.lists(fingerprints, max_size=60))
@settings(deadline=None)
def test_a_query_and_an_addition_in_one_are_both(values):
    one, both = Nearby(), Nearby()
    for value in values:
        assert both.query_then_add(value).tolist() == one.query(value).tolist()
        one.add(value)
    assert both.bytes == one.bytes


@given(st.lists(fingerprints, max_size=60), st.lists(fingerprints, max_size=20), fingerprints)
@settings(deadline=None)
def test_an_index_made_at_once_answers_as_one_that_grew(at_once, later, wanted):
    made = Nearby.of(np.array(at_once, np.uint64))
    for value in later:
        made.add(value)
    grown = index([*at_once, *later])
    for bits in (0, 7):
        assert made.query(wanted, bits).tolist() == grown.query(wanted, bits).tolist()
    assert (len(made), made.bytes) == (len(grown), grown.bytes)


@pytest.mark.parametrize("blocks", [(2, 2, 2, 1), (1, 2, 2, 2), (7, 0, 0, 0), (0, 0, 3, 4)])
def test_seven_bits_are_found_however_they_lie(blocks):
    wanted = 0x5555_AAAA_0F0F_3333
    apart = wanted
    for block, bits in enumerate(blocks):
        apart ^= ((1 << bits) - 1) << 16 * block
    assert index([apart]).query(wanted).tolist() == [0]
    assert index([apart]).query(wanted, 6).tolist() == []


@pytest.mark.parametrize("bits", [4, 5, 6])
def test_a_bit_in_every_block_is_found(bits):
    apart = sum(1 << 16 * block for block in range(4)) | ((1 << bits - 3) - 1)
    assert index([apart]).query(0, bits).tolist() == [0]


def test_copies_take_no_cells():
    nearby = index([7] * 10_000 + [8])
    one = index([7, 8])
    assert nearby.query(7, 0).tolist() == list(range(10_000))
    assert len(nearby.query(7, 4)) == 10_001
    assert nearby.bytes - one.bytes == (10_001 - 2) * 4


def test_a_bucket_of_many_chunks():
    values = [n << 16 for n in range(5 * CELLS + 3)]  # all in one bucket of the first block
    assert index(values).query(0, 7).tolist() == [item for item, value in enumerate(values) if value.bit_count() <= 7]


def test_beyond_seven_bits_is_refused():
    with pytest.raises(ValueError, match="Within 8 bits"):
        Nearby().query(0, 8)
