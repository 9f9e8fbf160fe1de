"""SimHash: votes of bits."""

from hashlib import blake2b

from hypothesis import given
from hypothesis import strategies as st

from pipeline.similarity import simhash

weights = st.dictionaries(st.sampled_from("abcdefghijklmnop"), st.integers(1, 9), max_size=12)
fingerprints = st.integers(0, 2**64 - 1)


def test_the_empty_text_has_no_bits():
    assert simhash.fingerprint({}) == 0


@given(st.text(max_size=8).filter(lambda text: text.isprintable()))
def test_a_single_token_gives_its_own_hash(token):
    assert simhash.fingerprint({token: 1}) == simhash.fingerprint({token: 7})


def test_a_token_votes_with_its_hash():
    assert simhash.fingerprint({"quake": 3}) == int.from_bytes(blake2b(b"quake", digest_size=8).digest())


@given(weights)
def test_each_bit_is_a_weighted_majority(counts):
    singles = {token: simhash.fingerprint({token: 1}) for token in counts}
    for bit in range(simhash.BITS):
        votes = sum(weight if singles[token] >> bit & 1 else -weight for token, weight in counts.items())
        assert simhash.fingerprint(counts) >> bit & 1 == (votes > 0)


@given(fingerprints, fingerprints)
def test_distance_counts_the_bits_that_differ(left, right):
    assert simhash.distance(left, right) == sum((left >> bit ^ right >> bit) & 1 for bit in range(64))


@given(fingerprints)
def test_hex_keeps_a_fingerprint(value):
    assert simhash.from_hex(simhash.to_hex(value)) == value
    assert len(simhash.to_hex(value)) == 16
