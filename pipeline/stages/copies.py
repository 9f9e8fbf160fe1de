"""Copies: whether a headline is a near-duplicate of an earlier one.

It is when most words are the same; when both sketches agree that few differ; or when one headline is the beginning of the other:
cut short by a feed, or with a suffix added.
"""

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.buckets import Numbers
from pipeline.similarity.compiled import kernel
from pipeline.similarity.items import LOWER, SIZE, TOKENS, UPPER, Ids, Rows


@kernel
def first_copy(
    items: Rows,
    similar: Numbers,
    scores: NDArray[np.float64],
    ids: Ids,
    upper: int,
    lower: int,
    least: float,
    enough: float,
    with_bits: float,
    most_bits: int,
    beginning: int,
) -> int:
    """The first of some similar items that a headline is a copy of, as an index; -1 if there is none.

    `scores` are the Jaccard similarities, falling; `ids` are the headline's tokens and `upper` and `lower` the halves of its
    SimHash. The limits are those of ClusterRule, in its order but for the least score, which comes first.
    """
    for index in range(len(similar)):
        if scores[index] < least:
            return -1
        row = items[similar[index] & (len(items) - 1)]
        if scores[index] >= enough:
            return index
        if scores[index] >= with_bits:
            bits = _bits(upper ^ int(row[UPPER])) + _bits(lower ^ int(row[LOWER]))
            if bits <= most_bits:
                return index
        shorter = min(len(ids), int(row[SIZE]))
        if shorter < beginning:
            continue
        same = 0
        while same < shorter and ids[same] == int(row[TOKENS + same]):
            same += 1
        if same == shorter:
            return index
    return -1


@kernel
def _bits(value: int) -> int:
    """How many bits of a number of 32 bits are set."""
    count = 0
    while value:
        value &= value - 1
        count += 1
    return count
