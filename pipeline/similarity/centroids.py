"""Centroids: sums of TF-IDF vectors by group, in one hash table over (group, token), in whole numbers.

An entry holds the sum of a token's weights in a group, and how many of the group's vectors hold it: its documents. The entries of
a group are chained, so that groups can be merged and deleted. The key of a slot is stored apart from its sums: most tokens looked
up are in no centroid, and such a lookup then touches few cache lines. Collisions probe the next slot; deleted entries are marked,
and go when the table is rebuilt, as do those whose sums are zero. Sums fit 32 bits for groups of up to 32,767 vectors, and inner
products 64 bits.

One group holds the frequencies instead: how many documents of all groups hold a token and, in the place of the sum, the spread of
the token. Each group adds to the spread the bit length of the number of its documents that hold the token. So a token that many
groups hold has a large spread, and a token that many documents of a single group hold has a small one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.compiled import handle, kernel
from pipeline.similarity.items import Ids

Weights = NDArray[np.int64]
Owners = NDArray[np.int64]
"""Of each place, `group * GROUP + token`, EMPTY or GONE."""
Entries = NDArray[np.int32]
"""What each place holds."""
Heads = NDArray[np.int64]
"""The newest entry of each group."""

SUM, DOCUMENTS, NEXT = range(3)
"""Columns of the entries: the sum of the token's weights, the number of vectors that hold it, the next entry of the group."""
SPREAD = SUM
"""The column of the spread, in a group of frequencies."""
EMPTY, GONE = -1, -2
GROUP = 4_294_967_296
HASH = 2_654_435_761
MIN_SLOTS = 256
SMALLEST_GROUPS = 64


@handle
@dataclass(slots=True)
class Centroids:
    """The sums of all groups; a group is a small number."""

    owners: Owners
    entries: Entries
    used: int
    """places that are not EMPTY"""
    heads: Heads
    groups: int
    """groups that were ever opened"""
    free: NDArray[np.int64]
    """those that were dropped, to be used again: the first `spare` of the array"""
    spare: int


@kernel
def new_centroids(places: int = MIN_SLOTS) -> Centroids:
    """No groups, with room for half as many entries as there are places: a power of two."""
    owners, entries = np.full(places, EMPTY, np.int64), np.zeros((places, 3), np.int32)
    heads, free = np.full(SMALLEST_GROUPS, -1, np.int64), np.zeros(SMALLEST_GROUPS, np.int64)
    return Centroids(owners, entries, 0, heads, 0, free, 0)


@kernel
def open_group(centroids: Centroids) -> int:
    """A new, empty group."""
    if centroids.spare > 0:
        centroids.spare -= 1
        return int(centroids.free[centroids.spare])
    if centroids.groups == len(centroids.heads):
        heads, free = np.full(2 * centroids.groups, -1, np.int64), np.zeros(2 * centroids.groups, np.int64)
        heads[: centroids.groups] = centroids.heads
        free[: centroids.groups] = centroids.free
        centroids.heads, centroids.free = heads, free
    centroids.groups += 1
    return centroids.groups - 1


@kernel
def place(owners: Owners, group: int, token: int) -> int:
    """Where the entry is, or the empty place where it would go."""
    wanted = group * GROUP + token
    last = len(owners) - 1  # places are a power of two: `& last` is the remainder
    entry = (token + group * HASH) & last
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
    entries[entry, DOCUMENTS] = 0
    entries[entry, NEXT] = heads[group]
    heads[group] = entry
    return entry, 1


@kernel
def _make_room(centroids: Centroids, more: int) -> None:
    """Build the table again, with room for more, before it is half full."""
    if 2 * (centroids.used + more) < len(centroids.owners):
        return
    owners, entries = centroids.owners, centroids.entries
    live = 0
    for entry in range(len(owners)):
        if owners[entry] >= 0 and (entries[entry, SUM] != 0 or entries[entry, DOCUMENTS] != 0):
            live += 1
    places = len(owners)
    while 8 * (live + more) >= 3 * places:
        places *= 2
    centroids.owners, centroids.entries = np.full(places, EMPTY, np.int64), np.zeros((places, 3), np.int32)
    centroids.heads[:] = -1
    for entry in range(len(owners)):
        key = owners[entry]
        if key >= 0 and (entries[entry, SUM] != 0 or entries[entry, DOCUMENTS] != 0):
            target, _ = _put(centroids.owners, centroids.entries, centroids.heads, key // GROUP, key % GROUP)
            centroids.entries[target, SUM] = entries[entry, SUM]
            centroids.entries[target, DOCUMENTS] = entries[entry, DOCUMENTS]
    centroids.used = live


@kernel
def bits(number: int) -> int:
    """How many binary digits a number has; 0 has none."""
    count = 0
    while number > 0:
        number >>= 1
        count += 1
    return count


@kernel
def add(centroids: Centroids, group: int, ids: Ids, weights: Weights, counted: int, frequencies: int) -> int:
    """Add a vector to a group; its first `counted` tokens count as documents, in the group `frequencies`, too.

    Returns by how much the squared length of the sum grew.
    """
    _make_room(centroids, 2 * len(ids))
    owners, entries, heads = centroids.owners, centroids.entries, centroids.heads
    new = grown = 0
    for index in range(len(ids)):
        entry, made = _put(owners, entries, heads, group, ids[index])
        new += made
        grown += weights[index] * (2 * int(entries[entry, SUM]) + weights[index])
        entries[entry, SUM] += weights[index]
        if index < counted:
            holding = int(entries[entry, DOCUMENTS])
            entries[entry, DOCUMENTS] = holding + 1
            total, made = _put(owners, entries, heads, frequencies, ids[index])
            new += made
            entries[total, DOCUMENTS] += 1
            entries[total, SPREAD] += bits(holding + 1) - bits(holding)
    centroids.used += new
    return grown


@kernel
def subtract(centroids: Centroids, group: int, ids: Ids, weights: Weights, counted: int, frequencies: int) -> int:
    """Take a vector that was added to a group out of it. Returns by how much the squared length of the sum fell."""
    owners, entries = centroids.owners, centroids.entries
    fell = 0
    for index in range(len(ids)):
        entry = place(owners, group, ids[index])
        fell += weights[index] * (2 * int(entries[entry, SUM]) - weights[index])
        entries[entry, SUM] -= weights[index]
        if index < counted:
            holding = int(entries[entry, DOCUMENTS])
            entries[entry, DOCUMENTS] = holding - 1
            total = place(owners, frequencies, ids[index])
            entries[total, DOCUMENTS] -= 1
            entries[total, SPREAD] -= bits(holding) - bits(holding - 1)
    return fell


@kernel
def count_documents(centroids: Centroids, group: int, ids: Ids, by: NDArray[np.int64]) -> None:
    """Count tokens as held by so many more documents of a group, without weight."""
    _make_room(centroids, len(ids))
    owners, entries, heads = centroids.owners, centroids.entries, centroids.heads
    new = 0
    for index in range(len(ids)):
        entry, made = _put(owners, entries, heads, group, ids[index])
        new += made
        entries[entry, DOCUMENTS] += by[index]
    centroids.used += new


@kernel
def dot(centroids: Centroids, left: int, right: int) -> int:
    """The inner product of the sums of two groups."""
    owners, entries, heads = centroids.owners, centroids.entries, centroids.heads
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
def merge_groups(centroids: Centroids, into: int, group: int, frequencies: int) -> int:
    """Add one group's sums to another's, and drop it; returns by how much the squared length of the other's sum grew."""
    _make_room(centroids, length(centroids, group))
    owners, entries, heads = centroids.owners, centroids.entries, centroids.heads
    new = grown = 0
    entry = heads[group]
    while entry >= 0:
        token = owners[entry] % GROUP
        target, made = _put(owners, entries, heads, into, token)
        new += made
        more, holding = int(entries[entry, SUM]), int(entries[entry, DOCUMENTS])
        grown += more * (2 * int(entries[target, SUM]) + more)
        if holding > 0:
            held = int(entries[target, DOCUMENTS])
            fewer = bits(held) + bits(holding) - bits(held + holding)
            entries[place(owners, frequencies, token), SPREAD] -= fewer
        entries[target, SUM] += more
        entries[target, DOCUMENTS] += holding
        owners[entry] = GONE
        entry = entries[entry, NEXT]
    centroids.used += new
    _free(centroids, group)
    return grown


@kernel
def drop_group(centroids: Centroids, group: int, frequencies: int) -> None:
    """Forget a group, and take the documents of its tokens out of the counts of the group `frequencies`."""
    owners, entries = centroids.owners, centroids.entries
    entry = centroids.heads[group]
    while entry >= 0:
        holding = int(entries[entry, DOCUMENTS])
        if holding > 0:
            total = place(owners, frequencies, owners[entry] % GROUP)
            entries[total, DOCUMENTS] -= holding
            entries[total, SPREAD] -= bits(holding)
        owners[entry] = GONE
        entry = entries[entry, NEXT]
    _free(centroids, group)


@kernel
def _free(centroids: Centroids, group: int) -> None:
    centroids.heads[group] = -1
    centroids.free[centroids.spare] = group
    centroids.spare += 1


@kernel
def length(centroids: Centroids, group: int) -> int:
    """How many entries a group has, those whose sums are zero among them."""
    count = 0
    entry = centroids.heads[group]
    while entry >= 0:
        count += 1
        entry = centroids.entries[entry, NEXT]
    return count
