"""Bucket tables of banded locality-sensitive hashing: which items share a band of their MinHash signatures.

    signature   [ 17 | 4 || 93 | 8 || 17 | 2 || ... ]     bands of 2 rows
                    |        |        |
    table          {...}    {...}    {...}                one table a band
    bucket      hash of (17, 4): items 8, 31, 90          the newest items that agree in this band, bounded

Two sets of Jaccard similarity J share at least one of `bands` bands of `rows` rows with probability
`1 - (1 - J**rows)**bands` (Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, chapter 3).

Items are numbered as they come. A query names the oldest number that still counts and sees, of each bucket, the newest
`capacity` items from there on: what it finds depends on those items alone, whatever older ones came and went. So tables
that are built anew from the items that still count answer as the old ones did.

`BucketTables` is the plain form, in dicts; `pipeline.similarity.fast_buckets` does the same in compiled code and less
memory, and a test holds the two equal. `bucket_tables` takes the fast one where numba is installed (the extra `fast`).
"""

from collections import Counter, deque
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint32]
"""One key for each band of a signature."""


class Buckets(Protocol):
    """What both forms of the tables do."""

    def insert(self, keys: Keys) -> int:
        """Put the next item into its bucket of every band; returns its number."""
        ...

    def query(self, keys: Keys) -> dict[int, int]:
        """The items that share a bucket with these keys, each with how many bands it shares."""
        ...

    def forget(self, before: int) -> None:
        """Items with numbers below `before` no longer count."""
        ...


def band_keys(signature: NDArray[np.uint32], bands: int, rows: int) -> Keys:
    """One 32-bit key for each band: a hash of its rows. Different rows have the same key with probability 2**-32."""
    table = signature[: bands * rows].reshape(bands, rows).astype(np.uint64)
    key = np.zeros(bands, np.uint64)
    for row in range(rows):  # multiply and xor-shift: each step is a bijection of 64 bits (Steele et al. 2014)
        key = (key ^ table[:, row]) * np.uint64(0xBF58476D1CE4E5B9)
        key ^= key >> np.uint64(31)
    return (key >> np.uint64(32)).astype(np.uint32)


def bucket_tables(bands: int, capacity: int) -> Buckets:
    """Empty tables, in compiled code if numba is installed."""
    try:
        from pipeline.similarity.fast_buckets import FastBucketTables  # noqa: PLC0415 - numba is an extra
    except ImportError:
        return BucketTables(bands, capacity)
    return FastBucketTables(bands, capacity)


class BucketTables:
    """One dict of buckets a band."""

    def __init__(self, bands: int, capacity: int) -> None:
        self._capacity = capacity
        self._tables: list[dict[int, list[int]]] = [{} for _ in range(bands)]
        self._kept: deque[list[int]] = deque()
        self._oldest = self._next = 0

    def insert(self, keys: Keys) -> int:
        """Put the next item into its bucket of every band; returns its number."""
        number, self._next = self._next, self._next + 1
        own = keys.tolist()
        for table, key in zip(self._tables, own, strict=True):
            bucket = table.setdefault(key, [])
            bucket.append(number)
            if len(bucket) > self._capacity:
                del bucket[0]
        self._kept.append(own)
        return number

    def query(self, keys: Keys) -> dict[int, int]:
        """The items that share a bucket with these keys, each with how many bands it shares."""
        found: list[int] = []
        for table, key in zip(self._tables, keys.tolist(), strict=True):
            found += table.get(key, ())
        return dict(Counter(found))

    def forget(self, before: int) -> None:
        """Items with numbers below `before` no longer count."""
        while self._oldest < min(before, self._next):
            for table, key in zip(self._tables, self._kept.popleft(), strict=True):
                bucket = table.get(key)
                if bucket is not None and bucket[0] == self._oldest:
                    del bucket[0]
                    if not bucket:
                        del table[key]
            self._oldest += 1
