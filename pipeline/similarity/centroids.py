"""Centroids: sums of TF-IDF vectors by group, in one hash table over (group, token), in whole numbers.

An entry holds the sum of a token's weights in a group, and how many of the group's vectors hold it. The entries of a group
are chained, so that groups can be merged and dropped. Who owns a place is kept apart from what it holds: most tokens that are
looked up are in no centroid, and the answer then lies in few cache lines. Collisions probe the next place; dropped entries are
marked, and go with those that hold nothing any more when the table is built anew. Sums fit 32 bits for groups of up to 32,767
vectors, and inner products 64 bits.
"""

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.compiled import kernel
from pipeline.similarity.items import Ids

Weights = NDArray[np.int64]
Owners = NDArray[np.int64]
"""Of each place, `group * GROUP + token`, EMPTY or GONE."""
Entries = NDArray[np.int32]
"""What each place holds."""
Heads = NDArray[np.int64]
"""The newest entry of each group."""

SUM, HELD, NEXT = range(3)
"""Columns of the entries."""
EMPTY, GONE = -1, -2
GROUP = 4_294_967_296
SPREAD = 2_654_435_761
SMALLEST = 256


class Centroids:
    """The sums of all groups; a group is a small number."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._groups = 0
        self._used = 0
        self.heads: Heads = np.full(64, -1, np.int64)
        self._allocate(SMALLEST)

    def _allocate(self, places: int) -> None:
        self.owners: Owners = np.full(places, EMPTY, np.int64)
        self.entries: Entries = np.zeros((places, 3), np.int32)

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
        self._used += count_held(self.owners, self.entries, self.heads, group, ids, by)

    def merge(self, into: int, group: int) -> int:
        """Add one group's sums to another's, and drop it; returns by how much the square of the other's sum grew."""
        self.make_room(_length(self.entries, self.heads, group))
        new, grown = _merge(self.owners, self.entries, self.heads, into, group)
        self._used += new
        self._free.append(group)
        return int(grown)

    def drop(self, group: int, counted: int) -> None:
        """Forget a group, and take the tokens that its vectors hold out of the counts of another."""
        _drop(self.owners, self.entries, self.heads, group, counted)
        self._free.append(group)

    def made(self, new: int) -> None:
        """A kernel has made so many new entries."""
        self._used += new

    def make_room(self, more: int) -> None:
        """Build the table anew, with room for more, before it is half full."""
        if 2 * (self._used + more) < len(self.owners):
            return
        owners, entries = self.owners, self.entries
        live = int(np.count_nonzero((owners >= 0) & (entries[:, SUM] | entries[:, HELD] != 0)))
        places = len(owners)
        while 8 * (live + more) >= 3 * places:
            places *= 2
        self._allocate(places)
        self.heads[:] = -1
        _rebuild(self.owners, self.entries, self.heads, owners, entries)
        self._used = live


@kernel
def place(owners: Owners, group: int, token: int) -> int:
    """Where the entry is, or the empty place where it would go."""
    wanted = group * GROUP + token
    last = len(owners) - 1  # places are a power of two: `& last` is the remainder
    entry = (token + group * SPREAD) & last
    while owners[entry] != wanted and owners[entry] != EMPTY:
        entry = (entry + 1) & last
    return entry


@kernel
def _put(owners: Owners, entries: Entries, heads: Heads, group: int, token: int) -> tuple[int, int]:
    """The entry, made if it is new; and 1 if it was."""
    entry = place(owners, group, token)
    if owners[entry] != EMPTY:
        return entry, 0
    owners[entry] = group * GROUP + token
    entries[entry, SUM] = 0
    entries[entry, HELD] = 0
    entries[entry, NEXT] = heads[group]
    heads[group] = entry
    return entry, 1


@kernel
def add(
    owners: Owners, entries: Entries, heads: Heads, group: int, ids: Ids, weights: Weights, held: int
) -> tuple[int, int]:
    """Add a vector to a group, its first `held` tokens as held; `make_room` came before, and `made` is to be told.

    Returns how many entries are new, and by how much the sum's squared length grew.
    """
    new = grown = 0
    for index in range(len(ids)):
        entry, made = _put(owners, entries, heads, group, ids[index])
        new += made
        grown += weights[index] * (2 * int(entries[entry, SUM]) + weights[index])
        entries[entry, SUM] += weights[index]
        if index < held:
            entries[entry, HELD] += 1
    return new, grown


@kernel
def count_held(owners: Owners, entries: Entries, heads: Heads, group: int, ids: Ids, by: NDArray[np.int64]) -> int:
    """Count tokens as held, as `Centroids.count`; returns how many entries are new."""
    new = 0
    for index in range(len(ids)):
        entry, made = _put(owners, entries, heads, group, ids[index])
        new += made
        entries[entry, HELD] += by[index]
    return new


@kernel
def dot(owners: Owners, entries: Entries, heads: Heads, left: int, right: int) -> int:
    """The inner product of the sums of two groups."""
    here, there = heads[left], heads[right]
    while here >= 0 and there >= 0:
        here, there = entries[here, NEXT], entries[there, NEXT]
    if here >= 0:  # the other is shorter: walk that
        left, right = right, left
    total = 0
    entry = heads[left]
    while entry >= 0:
        other = place(owners, right, owners[entry] % GROUP)
        if owners[other] != EMPTY:
            total += int(entries[entry, SUM]) * int(entries[other, SUM])
        entry = entries[entry, NEXT]
    return total


@kernel
def _merge(owners: Owners, entries: Entries, heads: Heads, into: int, group: int) -> tuple[int, int]:
    new = grown = 0
    entry = heads[group]
    while entry >= 0:
        target, made = _put(owners, entries, heads, into, owners[entry] % GROUP)
        new += made
        more = int(entries[entry, SUM])
        grown += more * (2 * int(entries[target, SUM]) + more)
        entries[target, SUM] += entries[entry, SUM]
        entries[target, HELD] += entries[entry, HELD]
        owners[entry] = GONE
        entry = entries[entry, NEXT]
    heads[group] = -1
    return new, grown


@kernel
def _drop(owners: Owners, entries: Entries, heads: Heads, group: int, counted: int) -> None:
    entry = heads[group]
    while entry >= 0:
        if entries[entry, HELD] > 0:
            entries[place(owners, counted, owners[entry] % GROUP), HELD] -= entries[entry, HELD]
        owners[entry] = GONE
        entry = entries[entry, NEXT]
    heads[group] = -1


@kernel
def _length(entries: Entries, heads: Heads, group: int) -> int:
    count = 0
    entry = heads[group]
    while entry >= 0:
        count += 1
        entry = entries[entry, NEXT]
    return count


@kernel
def _rebuild(owners: Owners, entries: Entries, heads: Heads, old: Owners, held: Entries) -> None:
    for entry in range(len(old)):
        key = old[entry]
        if key >= 0 and (held[entry, SUM] != 0 or held[entry, HELD] != 0):
            target, _ = _put(owners, entries, heads, key // GROUP, key % GROUP)
            entries[target, SUM] = held[entry, SUM]
            entries[target, HELD] = held[entry, HELD]
