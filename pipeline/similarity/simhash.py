"""SimHash fingerprints of weighted tokens (Charikar 2002; 64 bits as in Hu & You 2017).

Each bit is a vote: every token votes with its weight for or against the bit, as its own 64-bit hash says. Texts that share
most of their weight differ in few bits.
"""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

BITS = 64
BLOCKS_8_X_8 = (8,) * 8
BLOCKS_4_X_16 = (16,) * 4
BLOCKS_5_X_13 = (13, 13, 13, 13, 12)
"""The three plans of Hu and You 2017; their fifth block of the last has 12 bits, not 13."""


_LANE = 32
_ONES = sum(1 << _LANE * bit for bit in range(BITS))
"""One in each of 64 lanes of 32 bits: a whole number that holds 64 counters, which are added and compared all at once."""
_DIGITS = b"01" + bytes(254)
_VOTES = [sum(1 << _LANE * bit for bit in range(8) if byte >> bit & 1).to_bytes(_LANE) for byte in range(256)]
"""The lanes of each byte's bits."""


@lru_cache(maxsize=65_536)
def _votes(token: str) -> int:
    """The token's 64-bit BLAKE2b hash, a bit a lane."""
    return int.from_bytes(b"".join([_VOTES[byte] for byte in blake2b(token.encode(), digest_size=BITS // 8).digest()]))


def fingerprint(weights: Mapping[str, int]) -> int:
    """The 64-bit SimHash of tokens with whole-number weights, together less than 2**31.

    A tied vote and the empty text give 0 bits.
    """
    votes = _ONES * ((1 << _LANE - 1) - 1 - sum(weights.values()) // 2)  # more than half reach the lane's highest bit
    for token, weight in weights.items():
        votes += _votes(token) * weight
    bits = (votes >> _LANE - 1 & _ONES).to_bytes(BITS * _LANE // 8, "big")[_LANE // 8 - 1 :: _LANE // 8]
    return int(bits.translate(_DIGITS), 2)


def distance(left: int, right: int) -> int:
    """In how many bits the two fingerprints differ (Hamming distance)."""
    return (left ^ right).bit_count()


def signed(value: int) -> int:
    """The same 64 bits as a signed number, which is what kernels take."""
    return value - (value >> BITS - 1 << BITS)


def to_hex(value: int) -> str:
    """The fingerprint as 16 hexadecimal digits, as records carry it."""
    return f"{value:016x}"


def from_hex(digits: str) -> int:
    """The fingerprint that `to_hex` wrote."""
    return int(digits, 16)


def block_keys(value: int, blocks: tuple[int, ...]) -> NDArray[np.int64]:
    """The fingerprint cut into blocks of so many bits, the most significant first: the keys of its buckets."""
    keys: list[int] = []
    left = BITS
    for bits in blocks:
        left -= bits
        keys.append(value >> left & (1 << bits) - 1)
    return np.array(keys, np.int64)
