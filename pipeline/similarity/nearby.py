"""Nearby: all fingerprints within 7 bits of one, exactly, among millions, while more come.

A fingerprint of 64 bits is cut into 4 blocks of 16. Of two that differ in at most 7 bits, some block differs in at most one
(the pigeonhole principle; Manku, Jain and Das Sarma, Detecting near-duplicates for web crawling, 2007). So each block has a
table of 65,536 buckets, and a query looks into the bucket of its own block and the 16 that differ from it in one bit:

    block 0  key 4f1c --> chunk 7 (full) --> chunk 3 (full)          68 buckets a query; within 3 bits, 4 are enough
             key 4f1d --> chunk 9 (12 of 32 cells)
             ...

A bucket is a chain of chunks of cells, the newest first; a cell holds a whole fingerprint, so that candidates are compared where
they lie. Copies of a fingerprint are folded into one cell: its items form a ring.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

BITS = 7
"""How far apart fingerprints may be and still be found for certain."""
CELLS = 32
"""Cells of a chunk."""
BLOCKS, KEYS = 4, 65_536
NEAR_KEYS = np.array([0, *(1 << bit for bit in range(16))], np.int64)
"""What takes a key to itself and to those that differ in one bit (by XOR)."""
SHIFTS = np.arange(BLOCKS, dtype=np.uint64) * np.uint64(16)
OFFSETS = np.arange(BLOCKS, dtype=np.int64) * KEYS

Items = NDArray[np.int64]


class Nearby:
    """Fingerprints as unsigned 64-bit integers; each that is added is an item, numbered from 0."""

    def __init__(self) -> None:
        self._size = 0
        self._chunks = 1  # chunk 0 ends all chains
        self._prints = np.zeros((1_024, CELLS), np.uint64)
        self._items = np.full((1_024, CELLS), -1, np.int32)
        """the first item of each cell's fingerprint; -1: no cell"""
        self._before = np.zeros(1_024, np.int32)
        self._newest = np.zeros(BLOCKS * KEYS, np.int32)
        self._used = np.full(BLOCKS * KEYS, CELLS, np.int8)
        """cells of a bucket's newest chunk that are used"""
        self._ring = np.zeros(1_024, np.int32)
        """the next item of the same fingerprint, around"""

    def __len__(self) -> int:
        """How many items there are."""
        return self._size

    @property
    def bytes(self) -> int:
        """What is used of the arrays."""
        chunk = self._prints[0].nbytes + self._items[0].nbytes + self._before.itemsize
        return int(self._chunks * chunk + self._newest.nbytes + self._used.nbytes + self._size * self._ring.itemsize)

    @classmethod
    def of(cls, fingerprints: NDArray[np.uint64]) -> Self:
        """An index of many fingerprints, made at once: it answers as if they had been added one by one."""
        made = cls()
        made._size = len(fingerprints)
        distinct, first, which = np.unique(fingerprints, return_index=True, return_inverse=True)
        grouped = np.argsort(which, kind="stable")
        starts = np.searchsorted(which[grouped], np.arange(len(distinct)))
        following = np.roll(grouped, -1)
        following[np.roll(starts, -1) - 1] = grouped[starts]  # the last of each ring leads to its first
        made._ring = np.zeros(max(1, len(fingerprints)), np.int32)
        made._ring[grouped] = following
        keys = (_keys(distinct[:, None]) + OFFSETS).T
        cells = np.bincount(keys.ravel(), minlength=BLOCKS * KEYS)
        chunks = -(-cells // CELLS)
        base = 1 + np.cumsum(chunks) - chunks
        made._chunks = 1 + int(chunks.sum())
        made._prints = np.zeros((made._chunks, CELLS), np.uint64)
        made._items = np.full((made._chunks, CELLS), -1, np.int32)
        for block in range(BLOCKS):
            order = np.argsort(keys[block], kind="stable")
            key = keys[block][order]
            rank = np.arange(len(key)) - np.searchsorted(key, key)
            where = base[key] + rank // CELLS, rank % CELLS
            made._prints[where] = distinct[order]
            made._items[where] = first[order]
        made._before = np.arange(-1, made._chunks - 1, dtype=np.int32)
        made._before[[0, *base[chunks > 0]]] = 0
        made._newest = np.where(chunks > 0, base + chunks - 1, 0).astype(np.int32)
        made._used = np.where(chunks > 0, cells - CELLS * (chunks - 1), CELLS).astype(np.int8)
        return made

    def add(self, fingerprint: int) -> int:
        """Add a fingerprint; returns its number."""
        value = np.uint64(fingerprint)
        own = _keys(value) + OFFSETS
        same, _ = self._cells(own[:1], value, 0)
        return self._put(fingerprint, own, same)

    def query(self, fingerprint: int, bits: int = BITS) -> Items:
        """The numbers of all items whose fingerprints differ in at most so many bits, ascending. Raises ValueError beyond 7."""
        return self._query(np.uint64(fingerprint), bits)[0]

    def query_then_add(self, fingerprint: int, bits: int = BITS) -> Items:
        """The same, and then the fingerprint is added: cheaper than one after the other."""
        value = np.uint64(fingerprint)
        found, own, same = self._query(value, bits)
        self._put(fingerprint, own, same)
        return found

    def _query(self, value: np.uint64, bits: int) -> tuple[Items, Items, Items]:
        """What is found, the value's own buckets, and the first item with this very value, if there is any."""
        if not 0 <= bits <= BITS:
            raise ValueError(f"Within {bits} bits: 0 to {BITS} can be asked for.")
        keys = _keys(value)
        own = keys + OFFSETS
        probed = ((keys[:, None] ^ NEAR_KEYS) + OFFSETS[:, None]).ravel() if bits >= BLOCKS else own
        first, apart = self._cells(probed, value, bits)
        same = first[apart == 0][:1]
        if len(first):
            first = np.unique(first)
            first = np.sort(np.concatenate([first, self._copies(first)]))
        return first, own, same

    def _put(self, fingerprint: int, own: NDArray[np.int64], same: Items) -> int:
        """Add a fingerprint to its own buckets, or to the ring of the first item that is the same."""
        item = self._size
        if item == len(self._ring):
            self._ring = np.concatenate([self._ring, np.zeros_like(self._ring)])
        self._size += 1
        if len(same):
            self._ring[item] = self._ring[same[0]]
            self._ring[same[0]] = item
            return item
        self._ring[item] = item
        for bucket in own.tolist():
            used = int(self._used[bucket])
            if used == CELLS:
                self._open_chunk(bucket)
                used = 0
            chunk = self._newest[bucket]
            self._prints[chunk, used] = fingerprint
            self._items[chunk, used] = item
            self._used[bucket] = used + 1
        return item

    def _cells(self, buckets: NDArray[np.int64], value: np.uint64, bits: int) -> tuple[Items, NDArray[np.uint8]]:
        """The first items of the fingerprints in these buckets that are near enough, and by how many bits they are apart.

        Those of several buckets repeat.
        """
        chunks = self._newest.take(buckets)
        chunks = chunks[chunks > 0]
        levels = [chunks]
        while chunks.size:
            chunks = self._before.take(chunks)
            chunks = chunks[chunks > 0]
            levels.append(chunks)
        chunks = np.concatenate(levels)
        cells = self._prints.take(chunks, axis=0)
        apart = np.bitwise_count(np.bitwise_xor(cells, value, out=cells)).ravel()
        near = np.flatnonzero(apart <= bits)
        found = self._items[chunks[near // CELLS], near % CELLS]
        used = found >= 0
        return found[used].astype(np.int64), apart[near[used]]

    def _copies(self, first: Items) -> Items:
        """The other items with the same fingerprints."""
        more: list[Items] = [np.empty(0, np.int64)]
        at = self._ring[first].astype(np.int64)
        while True:
            apart = at != first
            if not apart.any():
                return np.concatenate(more)
            first, at = first[apart], at[apart]
            more.append(at)
            at = self._ring[at].astype(np.int64)

    def _open_chunk(self, bucket: int) -> None:
        if self._chunks == len(self._prints):
            self._prints = np.concatenate([self._prints, np.zeros_like(self._prints)])
            self._items = np.concatenate([self._items, np.full_like(self._items, -1)])
            self._before = np.concatenate([self._before, np.zeros_like(self._before)])
        self._before[self._chunks] = self._newest[bucket]
        self._newest[bucket] = self._chunks
        self._used[bucket] = 0
        self._chunks += 1


def _keys(values: np.uint64 | NDArray[np.uint64]) -> Items:
    """The keys of the four blocks of a fingerprint, or of each line of a column of them."""
    keys: Items = (values >> SHIFTS & np.uint64(KEYS - 1)).astype(np.int64)
    return keys
