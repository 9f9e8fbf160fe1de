"""Ties: a story that might belong to two clusters that are not merged ties them. The more ties, the likelier they are one.

Ties are kept in a table of centroids with clusters in the place of tokens: the entry of two groups holds how many stories tie
them. Each pair has two entries, so that all ties of a group are found when it is merged into another or dropped. A group has the
number that it has in the centroids of the window: both open and drop groups in the same order.
"""

import numpy as np

from pipeline.similarity.centroids import EMPTY, GROUP, NEXT, SUM, Centroids, add, drop_group, length, place
from pipeline.similarity.compiled import kernel

NO_GROUP = 0
"""Ties count as documents of none."""


@kernel
def ties_between(ties: Centroids, left: int, right: int) -> int:
    """How many stories tie two groups."""
    entry = place(ties.owners, left, right)
    return int(ties.entries[entry, SUM]) if ties.owners[entry] != EMPTY else 0


@kernel
def tie(ties: Centroids, left: int, right: int, stories: int) -> None:
    """Tie two groups by so many more stories."""
    more = np.array([stories])
    add(ties, left, np.array([right]), more, 0, NO_GROUP)
    add(ties, right, np.array([left]), more, 0, NO_GROUP)


@kernel
def merge_ties(ties: Centroids, survivor: int, absorbed: int) -> None:
    """Tie what is tied with one group to another, and drop the one."""
    found = length(ties, absorbed)
    others, counts = np.empty((2, found), np.int64)
    entry = ties.heads[absorbed]
    for index in range(found):
        others[index], counts[index] = ties.owners[entry] % GROUP, ties.entries[entry, SUM]
        entry = ties.entries[entry, NEXT]
    drop_ties(ties, absorbed)
    for index in range(found):
        if counts[index] > 0 and others[index] != survivor:
            tie(ties, survivor, others[index], counts[index])


@kernel
def drop_ties(ties: Centroids, group: int) -> None:
    """Forget a group, and what ties others with it."""
    entry = ties.heads[group]
    while entry >= 0:
        back = place(ties.owners, ties.owners[entry] % GROUP, group)
        if ties.owners[back] != EMPTY:
            ties.entries[back, SUM] = 0
        entry = ties.entries[entry, NEXT]
    drop_group(ties, group, NO_GROUP)
