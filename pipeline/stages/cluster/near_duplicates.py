"""Near-duplicates: whether a headline is a near-duplicate of an earlier one.

It is when most words are the same; when both sketches agree that few differ; or when one headline is the beginning of the other:
cut short by a feed, or with a suffix added.
"""

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.buckets import Numbers
from pipeline.similarity.compiled import kernel
from pipeline.similarity.items import HALF, LOWER, MASK, SIZE, TOKENS, UPPER, Ids, Items
from pipeline.stages.rules import MatchRule


@kernel
def first_near_duplicate(
    items: Items, similar: Numbers, scores: NDArray[np.float64], ids: Ids, simhash: int, rule: MatchRule
) -> int:
    """The first of some similar items that a headline is a near-duplicate of, as an index; -1 if there is none.

    `scores` are the Jaccard similarities, falling; `ids` are the headline's tokens, and its SimHash is signed.
    """
    rows = items.rows
    for index in range(len(similar)):
        if scores[index] < rule.duplicate_least:
            return -1
        row = rows[similar[index] & (len(rows) - 1)]
        if scores[index] >= rule.duplicate_at:
            return index
        if scores[index] >= rule.duplicate_bits_at:
            bits = _bits((simhash >> HALF & MASK) ^ int(row[UPPER])) + _bits((simhash & MASK) ^ int(row[LOWER]))
            if bits <= rule.duplicate_bits:
                return index
        shorter = min(len(ids), int(row[SIZE]))
        if shorter < rule.duplicate_beginning:
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
