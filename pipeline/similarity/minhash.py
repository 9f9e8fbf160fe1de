"""MinHash signatures of token sets (Broder 1997), by the universal hash of Newshound's "Clustering news stories at scale".

Row j of a signature is the least value of `h_j(x) = (a_j * x + b_j) mod 4294967311` over the CRC-32 values x of the tokens.
The share of equal rows in two signatures is an unbiased estimate of the Jaccard similarity of the two sets.

All arithmetic is exact: a, b and x are below 2**32, so that `a * x + b` stays below 2**64. Newshound's worked example is
not (it rounds to a double, and its b exceeds the stated maximum): its 609,632,658 is 609,633,111.
"""

import zlib
from collections.abc import Collection
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

ROWS = 120
PRIME = 4_294_967_311
"""The least prime above 2**32."""
LARGEST = 2**32 - 1
"""The largest value a signature can hold, and the value of every row for the empty set. Residues can reach 2**32 + 14;
a minimum beyond LARGEST is stored as LARGEST (a set of n tokens has such a row with a probability below 2**-28n)."""


def _coefficient(name: str, row: int) -> int:
    return int.from_bytes(blake2b(f"newsburst minhash {name} {row}".encode(), digest_size=4).digest(), "little")


A = np.array([max(1, _coefficient("a", row)) for row in range(ROWS)], np.uint64)
B = np.array([_coefficient("b", row) for row in range(ROWS)], np.uint64)
"""The published constants: BLAKE2b of `newsburst minhash a 0` and so on, 4 bytes, little-endian; no a is 0."""


def signature(tokens: Collection[str]) -> NDArray[np.uint32]:
    """The MinHash signature of a set of tokens: ROWS unsigned 32-bit integers. Repeated tokens count once."""
    if not tokens:
        return np.full(ROWS, LARGEST, np.uint32)
    values = np.array([zlib.crc32(token.encode()) for token in tokens], np.uint64)
    residues = (values[:, None] * A + B) % np.uint64(PRIME)
    least: NDArray[np.uint64] = residues.min(axis=0)
    return np.minimum(least, np.uint64(LARGEST)).astype(np.uint32)


def similarity(left: NDArray[np.uint32], right: NDArray[np.uint32]) -> float:
    """The estimated Jaccard similarity of the two sets: the share of positions in which the signatures agree."""
    return float(np.count_nonzero(left == right)) / len(left)


def to_bytes(values: NDArray[np.uint32]) -> bytes:
    """The signature as little-endian bytes, 4 a row."""
    return values.astype("<u4").tobytes()


def from_bytes(data: bytes) -> NDArray[np.uint32]:
    """The signature that `to_bytes` wrote. Raises ValueError if it has not ROWS values."""
    values = np.frombuffer(data, "<u4").astype(np.uint32, copy=False)
    if len(values) != ROWS:
        raise ValueError(f"A signature has {ROWS} values of 4 bytes; this one has {len(data)} bytes.")
    return values
