"""Centroids: sums of TF-IDF vectors by group, in one hash table over (group, token), in whole numbers.

An entry holds the sum of a token's weights in a group, and how many of the group's vectors hold it. The entries of a group
are chained, so that groups can be merged and dropped. Collisions probe the next place; dropped entries are marked, and go with
those that hold nothing any more when the table is built anew. Inner products fit 64 bits while the sizes of two groups,
multiplied, stay below 2**31.
"""

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.compiled import kernel
from pipeline.similarity.items import Ids

Weights = NDArray[np.int64]
Entries = NDArray[np.int64]

KEY, SUM, HELD, NEXT = range(4)
"""Columns of the table."""
EMPTY, GONE = -1, -2
GROUP = 4_294_967_296
"""The key of an entry is `group * GROUP + token`."""
SPREAD = 2_654_435_761
SMALLEST = 4_096


class Centroids:
    """The sums of all groups; a group is a small number."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._groups = 0
        self._used = 0
        self.heads = np.full(256, -1, np.int64)
        self.entries = _empty(SMALLEST)

    def open(self) -> int:
        """A new, empty group."""
        if self._free:
            return self._free.pop()
        if self._groups == len(self.heads):
            self.heads = np.concatenate([self.heads, np.full(self._groups, -1, np.int64)])
        self._groups += 1
        return self._groups - 1

    def count(self, group: int, ids: Ids, by: NDArray[np.int64]) -> None:
        """Count tokens as held so many more times in a group, without weight."""
        self.make_room(len(ids))
        self._used += count_held(self.entries, self.heads, group, ids, by)

    def merge(self, into: int, group: int) -> None:
        """Add one group's sums to another's, and drop it."""
        self.make_room(_length(self.entries, self.heads, group))
        self._used += _merge(self.entries, self.heads, into, group)
        self.drop(group)

    def drop(self, group: int) -> None:
        """Forget a group."""
        _drop(self.entries, self.heads, group)
        self._free.append(group)

    def dot(self, left: int, right: int) -> int:
        """The inner product of two sums."""
        return int(_dot(self.entries, self.heads, left, right))

    def made(self, new: int) -> None:
        """A kernel has made so many new entries."""
        self._used += new

    def make_room(self, more: int) -> None:
        """Build the table anew, with room for more, before it is two thirds full."""
        if 3 * (self._used + more) < 2 * len(self.entries):
            return
        old = self.entries
        live = int(np.count_nonzero((old[:, KEY] >= 0) & (old[:, SUM] + old[:, HELD] > 0)))
        places = len(old)
        while 3 * (live + more) >= places:
            places *= 2
        self.entries = _empty(places)
        self.heads[:] = -1
        _rebuild(self.entries, self.heads, old)
        self._used = live


def _empty(places: int) -> Entries:
    entries = np.zeros((places, 4), np.int64)
    entries[:, KEY] = EMPTY
    return entries


@kernel
def place(entries: Entries, group: int, token: int) -> int:
    """Where the entry is, or the empty place where it would go."""
    wanted = group * GROUP + token
    last = len(entries) - 1  # places are a power of two: `& last` is the remainder
    entry = (token + group * SPREAD) & last
    while entries[entry, KEY] != wanted and entries[entry, KEY] != EMPTY:
        entry = (entry + 1) & last
    return entry


@kernel
def _put(entries: Entries, heads: NDArray[np.int64], group: int, token: int) -> tuple[int, int]:
    """The entry, made if it is new; and 1 if it was."""
    entry = place(entries, group, token)
    if entries[entry, KEY] != EMPTY:
        return entry, 0
    entries[entry, KEY] = group * GROUP + token
    entries[entry, SUM] = 0
    entries[entry, HELD] = 0
    entries[entry, NEXT] = heads[group]
    heads[group] = entry
    return entry, 1


@kernel
def add(
    entries: Entries, heads: NDArray[np.int64], group: int, ids: Ids, weights: Weights, held: int
) -> tuple[int, int]:
    """Add a vector to a group, its first `held` tokens as held; `make_room` came before, and `made` is to be told.

    Returns how many entries are new, and by how much the sum's squared length grew.
    """
    new = grown = 0
    for index in range(len(ids)):
        entry, made = _put(entries, heads, group, ids[index])
        new += made
        grown += weights[index] * (2 * entries[entry, SUM] + weights[index])
        entries[entry, SUM] += weights[index]
        if index < held:
            entries[entry, HELD] += 1
    return new, grown


@kernel
def _merge(entries: Entries, heads: NDArray[np.int64], into: int, group: int) -> int:
    new = 0
    entry = heads[group]
    while entry >= 0:
        target, made = _put(entries, heads, into, entries[entry, KEY] % GROUP)
        new += made
        entries[target, SUM] += entries[entry, SUM]
        entries[target, HELD] += entries[entry, HELD]
        entry = entries[entry, NEXT]
    return new


@kernel
def _drop(entries: Entries, heads: NDArray[np.int64], group: int) -> None:
    entry = heads[group]
    while entry >= 0:
        entries[entry, KEY] = GONE
        entry = entries[entry, NEXT]
    heads[group] = -1


@kernel
def count_held(entries: Entries, heads: NDArray[np.int64], group: int, ids: Ids, by: NDArray[np.int64]) -> int:
    """Count tokens as held, as `Centroids.count`; returns how many entries are new."""
    new = 0
    for index in range(len(ids)):
        entry, made = _put(entries, heads, group, ids[index])
        new += made
        entries[entry, HELD] += by[index]
    return new


@kernel
def _length(entries: Entries, heads: NDArray[np.int64], group: int) -> int:
    count = 0
    entry = heads[group]
    while entry >= 0:
        count += 1
        entry = entries[entry, NEXT]
    return count


@kernel
def _dot(entries: Entries, heads: NDArray[np.int64], left: int, right: int) -> int:
    here, there = heads[left], heads[right]
    while here >= 0 and there >= 0:
        here, there = entries[here, NEXT], entries[there, NEXT]
    if here >= 0:  # the other is shorter: walk that
        left, right = right, left
    total = 0
    entry = heads[left]
    while entry >= 0:
        other = place(entries, right, entries[entry, KEY] % GROUP)
        if entries[other, KEY] != EMPTY:
            total += entries[entry, SUM] * entries[other, SUM]
        entry = entries[entry, NEXT]
    return total


@kernel
def _rebuild(entries: Entries, heads: NDArray[np.int64], old: Entries) -> None:
    for entry in range(len(old)):
        key = old[entry, KEY]
        if key >= 0 and old[entry, SUM] + old[entry, HELD] > 0:
            target, _ = _put(entries, heads, key // GROUP, key % GROUP)
            entries[target, SUM] = old[entry, SUM]
            entries[target, HELD] = old[entry, HELD]
