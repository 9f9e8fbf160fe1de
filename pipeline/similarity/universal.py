"""The universal hash functions of MinHash: `h_j(x) = (a_j * x + b_j) mod PRIME`, over the CRC-32 values x of tokens."""

from functools import lru_cache
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


@lru_cache(maxsize=8)
def coefficients(rows: int, seed: int = 0) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The published constants a and b of so many rows: BLAKE2b of `newsburst minhash a 0` and so on, 4 bytes, little-endian.

    No a is 0. The first rows are the same whatever their number is. Another seed gives other functions: it stands before the row.
    """
    seeded = f" {seed}" if seed else ""
    a = np.array([max(1, _coefficient(f"a{seeded}", row)) for row in range(rows)], np.uint32)
    b = np.array([_coefficient(f"b{seeded}", row) for row in range(rows)], np.uint32)
    return a, b


A, B = coefficients(ROWS)
"""Those of the signatures that stories carry."""
