"""Bucket tables of banded locality-sensitive hashing: which items share a band of their MinHash signatures.

    signature   [ 17 | 4 || 93 | 8 || 17 | 2 || ... ]     bands of 2 rows
                    |        |        |
    table          {...}    {...}    {...}                one table a band
    bucket      hash of (17, 4): items 90, 31, 8          the newest items that agree in this band, bounded

Two sets of Jaccard similarity J share at least one of `bands` bands of `rows` rows with probability
`1 - (1 - J**rows)**bands` (Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, chapter 3).

Items are numbered as they come; those before the oldest that counts are forgotten. A query sees, of each bucket, the newest
`capacity` items that count: what it finds depends on those alone, whatever older ones came and went. So tables that are built
from the items that still count answer as the old ones did.

A bucket is a chain in arrays, from its newest item back. Each item has one node a band, in the slot `number mod slots`:

    head[band, key mod slots] --> 90: key, back 59  -->  31: key, back 23  -->  8: key, back 9: before the first

A walk passes the nodes of other keys that share the head, and stops at the first item that no longer counts. So nothing is
ever deleted: slots are used again, and a head whose item has gone leads to nodes of other keys only. The arrays double, and
the chains are rebuilt, when there are more items than slots.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.compiled import handle, kernel

Keys = NDArray[np.int64]
"""One key for each band of a signature."""
Numbers = NDArray[np.int64]

PRIME = 4_294_967_311
MULTIPLIER = 1_073_741_789
MIN_SLOTS = 64
"""Slots at first."""


@kernel
def band_keys(signature: NDArray[np.uint32], bands: int, rows: int) -> Keys:
    """One key for each band: a polynomial hash of its rows modulo PRIME. Others have the same key with probability 2**-32."""
    keys = np.empty(bands, np.int64)
    for band in range(bands):
        key = 0
        for row in range(band * rows, (band + 1) * rows):
            value = key * MULTIPLIER + int(signature[row])  # below 2**62 + 2**32: exact
            key = value - ((value - 15 * (value >> 32)) >> 32) * PRIME  # the quotient, or one less, without a division
            if key >= PRIME:
                key -= PRIME
        keys[band] = key % 4_294_967_296
    return keys


def xor_keys(signature: NDArray[np.uint32], bands: int, rows: int) -> Keys:
    """One key for each band: the XOR of its rows, as in Newshound's "Clustering news stories at scale".

    It cannot tell rows in another order apart, nor any two equal rows from none.
    """
    keys: NDArray[np.uint32] = np.bitwise_xor.reduce(signature[: bands * rows].reshape(bands, rows), axis=1)
    return keys.astype(np.int64)


@handle
@dataclass(slots=True)
class Buckets:
    """The arrays of the tables of all bands."""

    head: NDArray[np.int32]
    """slot of the newest item of each chain, by band and by key"""
    node: NDArray[np.uint32]
    """by slot and band: key, and how many numbers back the next item of the chain is"""
    seen: NDArray[np.uint8]
    """for `query` to count in; zeros between"""
    oldest: int
    """number of the oldest item that counts"""
    next: int
    """number of the next item"""
    capacity: int


class BucketTables:
    """One table of buckets a band, over numbered items."""

    def __init__(self, bands: int, capacity: int, slots: int = MIN_SLOTS) -> None:
        self.buckets = new_buckets(bands, capacity, slots)
        self._most = bands * capacity

    def insert(self, keys: Keys) -> int:
        """Put the next item into its bucket of every band; returns its number."""
        return insert(self.buckets, keys)

    def query(self, keys: Keys) -> tuple[Numbers, Numbers]:
        """The numbers of the items that share a bucket with these keys, ascending, and how many bands each shares."""
        found, shared = np.empty(self._most, np.int64), np.empty(self._most, np.int64)
        count = query(self.buckets, keys, found, shared)
        order = np.argsort(found[:count])
        return found[order], shared[order]

    def forget(self, before: int) -> None:
        """Items with numbers below `before` no longer count."""
        forget(self.buckets, before)


@kernel
def new_buckets(bands: int, capacity: int, slots: int) -> Buckets:
    """Empty tables, with room for so many items: a power of two."""
    head, node = np.full((bands, slots), -1, np.int32), np.zeros((slots, bands, 2), np.uint32)
    return Buckets(head, node, np.zeros(slots, np.uint8), 0, 0, capacity)


@kernel
def forget(buckets: Buckets, before: int) -> None:
    """Items with numbers below `before` no longer count."""
    buckets.oldest = max(buckets.oldest, min(before, buckets.next))


@kernel
def insert(buckets: Buckets, keys: Keys) -> int:
    """Put the next item into its bucket of every band; returns its number. The arrays double if there is no room."""
    number = buckets.next
    if number - buckets.oldest >= len(buckets.node):
        _grow(buckets)
    _link(buckets.head, buckets.node, keys, number)
    buckets.next = number + 1
    return number


@kernel
def _grow(buckets: Buckets) -> None:
    old = buckets.node
    slots, bands, _ = old.shape
    buckets.head, buckets.node = np.full((bands, 2 * slots), -1, np.int32), np.zeros((2 * slots, bands, 2), np.uint32)
    buckets.seen = np.zeros(2 * slots, np.uint8)
    keys = np.empty(bands, np.int64)
    for number in range(buckets.oldest, buckets.next):
        for band in range(bands):
            keys[band] = old[number & (slots - 1), band, 0]
        _link(buckets.head, buckets.node, keys, number)


@kernel
def _link(head: NDArray[np.int32], node: NDArray[np.uint32], keys: Keys, number: int) -> None:
    bands, slots = head.shape
    last = slots - 1  # slots are a power of two: `& last` is the remainder
    slot = number & last
    for band in range(bands):
        place = keys[band] & last
        newest = int(head[band, place])
        back = number + 1 if newest < 0 else ((slot - newest - 1) & last) + 1
        node[slot, band, 0] = keys[band]
        node[slot, band, 1] = min(back, slots)  # as far back nothing counts
        head[band, place] = slot


@kernel
def query(buckets: Buckets, keys: Keys, found: Numbers, shared: Numbers) -> int:
    """Fill `found` and `shared` as `BucketTables.query` returns them, but in any order; returns how many it found."""
    head, node, seen = buckets.head, buckets.node, buckets.seen
    oldest, after, capacity = buckets.oldest, buckets.next, buckets.capacity
    bands, slots = head.shape
    last = slots - 1
    newest, first = np.empty(bands, np.int64), np.empty((bands, 2), np.uint32)
    for band in range(bands):  # loops that only load keep memory busy with many answers at once
        newest[band] = head[band, keys[band] & last]
    for band in range(bands):
        first[band] = node[newest[band] & last, band]
    count = 0
    for band in range(bands):
        if newest[band] < 0:
            continue
        key = keys[band]
        number = after - 1 - ((after - 1 - newest[band]) & last)
        there, back = int(first[band, 0]), int(first[band, 1])
        taken = 0
        while number >= oldest:
            if there == key:
                slot = number & last
                if seen[slot] == 0:
                    found[count] = number
                    count += 1
                seen[slot] += 1
                taken += 1
                if taken == capacity:
                    break
            number -= back
            there, back = int(node[number & last, band, 0]), int(node[number & last, band, 1])
    for index in range(count):
        slot = found[index] & last
        shared[index] = seen[slot]
        seen[slot] = 0
    return count
