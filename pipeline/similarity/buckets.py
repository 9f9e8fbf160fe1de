"""Bucket tables of banded locality-sensitive hashing: which items share a band of their MinHash signatures.

    signature   [ 17 | 4 || 93 | 8 || 17 | 2 || ... ]     bands of 2 rows
                    |        |        |
    table          {...}    {...}    {...}                one table a band
    bucket      (17, 4): [(time, item), ...]              the newest items that agree in this band, bounded

Two sets of Jaccard similarity J share at least one of `bands` bands of `rows` rows with probability
`1 - (1 - J**rows)**bands` (Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, chapter 3).

A bucket keeps its newest items **by time**, not by arrival. So what a query since some time finds depends only on the
items from that time on, however they arrived and whatever older ones came and went: a table built anew from the items
still of interest answers as the old one did.
"""

from bisect import insort
from collections import Counter

import numpy as np
from numpy.typing import NDArray


def band_keys(signature: NDArray[np.uint32], bands: int, rows: int) -> list[bytes]:
    """One key for each band, the band's rows as bytes: equal keys mean equal rows, without collisions."""
    data, width = signature.astype("<u4").tobytes(), 4 * rows
    return [data[start : start + width] for start in range(0, bands * width, width)]


class BucketTables:
    """One table of buckets a band; each bucket holds the `capacity` newest items by (time, item)."""

    def __init__(self, bands: int, capacity: int) -> None:
        self.capacity = capacity
        self.tables: list[dict[bytes, list[tuple[int, str]]]] = [{} for _ in range(bands)]

    def insert(self, keys: list[bytes], time: int, item: str) -> None:
        """Put `item` of `time` into its bucket of every band."""
        entry = (time, item)
        capacity = self.capacity
        for table, key in zip(self.tables, keys, strict=True):
            bucket = table.get(key)
            if bucket is None:
                table[key] = [entry]
                continue
            if bucket[-1] < entry:
                bucket.append(entry)
            else:
                insort(bucket, entry)
            if len(bucket) > capacity:
                del bucket[0]

    def remove(self, keys: list[bytes], time: int, item: str) -> None:
        """Take `item` out of its buckets; those that newer items have pushed it out of stay as they are."""
        entry = (time, item)
        for table, key in zip(self.tables, keys, strict=True):
            bucket = table.get(key)
            if bucket is not None and entry in bucket:
                bucket.remove(entry)
                if not bucket:
                    del table[key]

    def query(self, keys: list[bytes], since: int) -> dict[str, int]:
        """The items from time `since` on that share a bucket with these keys, each with how many bands it shares."""
        entries: list[tuple[int, str]] = []
        for table, key in zip(self.tables, keys, strict=True):
            bucket = table.get(key)
            if bucket is not None:
                entries += bucket
        return {item: shared for (time, item), shared in Counter(entries).items() if time >= since}
