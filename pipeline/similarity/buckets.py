"""Bucket tables of banded locality-sensitive hashing: which items share a band of their MinHash signatures.

    signature   [ 17 | 4 || 93 | 8 || 17 | 2 || ... ]     bands of 2 rows
                    |        |        |
    table          {...}    {...}    {...}                one table a band
    bucket      hash of (17, 4): items 90, 31, 8          the newest items that agree in this band, bounded

Two sets of Jaccard similarity J share at least one of `bands` bands of `rows` rows with probability
`1 - (1 - J**rows)**bands` (Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, chapter 3).

Items are numbered as they come; those before the oldest that counts are forgotten. A query sees, of each bucket, the newest
`capacity` items that count: what it finds depends on those alone, whatever older ones came and went. So tables that are built
anew from the items that still count answer as the old ones did.

A bucket is a chain in arrays, from its newest item back. Each item has one node a band, in the slot `number mod slots`:

    head[band, key mod slots] --> 90: key, back 59  -->  31: key, back 23  -->  8: key, back 9: before the first

A walk passes the nodes of other keys that share the head, and stops at the first item that no longer counts. So nothing is
ever deleted: slots are used again, and a head whose item has gone leads to nodes of other keys only. The arrays double, and
the chains are linked anew, when there are more items than slots.
"""

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.compiled import kernel

Keys = NDArray[np.int64]
"""One key for each band of a signature."""
Numbers = NDArray[np.int64]

PRIME = 4_294_967_311
MULTIPLIER = 1_073_741_789
SMALLEST = 64
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


class BucketTables:
    """One table of buckets a band, over numbered items."""

    def __init__(self, bands: int, capacity: int) -> None:
        self.oldest = self.next = 0
        self._capacity = capacity
        self._most = bands * capacity
        self._allocate(bands, SMALLEST)

    def _allocate(self, bands: int, slots: int) -> None:
        self.head = np.full((bands, slots), -1, np.int32)
        """slot of the newest item of each chain"""
        self.node = np.zeros((slots, bands, 2), np.uint32)
        """key, and how many numbers back the next item of the chain is"""
        self.seen = np.zeros(slots, np.uint8)
        """for `query` to count in; zeros between"""

    def next_number(self, count: int = 1) -> int:
        """The number of the next item, with a slot for it; whoever takes it calls the kernel `insert` with it.

        With `count`, the first of so many.
        """
        while self.next + count - self.oldest > len(self.node):
            self._grow()
        self.next += count
        return self.next - count

    def insert(self, keys: Keys) -> int:
        """Put the next item into its bucket of every band; returns its number."""
        number = self.next_number()
        insert(self.head, self.node, keys, number)
        return number

    def query(self, keys: Keys) -> tuple[Numbers, Numbers]:
        """The numbers of the items that share a bucket with these keys, ascending, and how many bands each shares."""
        found, shared = np.empty(self._most, np.int64), np.empty(self._most, np.int64)
        count = query(self.head, self.node, self.seen, keys, self.oldest, self.next, self._capacity, found, shared)
        order = np.argsort(found[:count])
        return found[order], shared[order]

    def forget(self, before: int) -> None:
        """Items with numbers below `before` no longer count."""
        self.oldest = max(self.oldest, min(before, self.next))

    def _grow(self) -> None:
        old = self.node
        self._allocate(old.shape[1], 2 * len(old))
        _insert_again(self.head, self.node, old, self.oldest, self.next)


@kernel
def insert(head: NDArray[np.int32], node: NDArray[np.uint32], keys: Keys, number: int) -> None:
    """Put an item into the buckets of these keys."""
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
def _insert_again(
    head: NDArray[np.int32], node: NDArray[np.uint32], old: NDArray[np.uint32], oldest: int, after: int
) -> None:
    keys = np.empty(len(head), np.int64)
    for number in range(oldest, after):
        for band in range(len(head)):
            keys[band] = old[number & (len(old) - 1), band, 0]
        insert(head, node, keys, number)


@kernel
def query(
    head: NDArray[np.int32],
    node: NDArray[np.uint32],
    seen: NDArray[np.uint8],
    keys: Keys,
    oldest: int,
    after: int,
    capacity: int,
    found: Numbers,
    shared: Numbers,
) -> int:
    """Fill `found` and `shared` as `BucketTables.query` returns them, but in any order; returns how many it found."""
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
