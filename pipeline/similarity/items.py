"""Numbered items: the token set of each, to rank candidates by exact Jaccard similarity, its SimHash, and the group it is in.

Tokens are their CRC-32 values. Of longer sets the first WIDTH tokens are compared. Candidates are anywhere in memory, and waiting
for it is what they cost: so all that is looked at of an item is one row, of two lines of memory.

    row   | size | group | SimHash, upper half | lower half | token | token | ...
"""

import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.buckets import Numbers
from pipeline.similarity.compiled import handle, kernel

SIZE, GROUP, UPPER, LOWER, TOKENS = range(5)
"""Columns of a row; the last is the first of the tokens."""
COLUMNS = 32
WIDTH = COLUMNS - TOKENS
HALF = 32
MASK = 2**HALF - 1
"""Bits of half a SimHash, and a mask for the lower half."""

Ids = NDArray[np.int64]
Rows = NDArray[np.uint32]


def token_ids(tokens: Iterable[str]) -> Ids:
    """The CRC-32 value of each token."""
    return np.array([*checksums(tokens)], np.int64)


def checksums(tokens: Iterable[str]) -> Iterable[int]:
    """The CRC-32 value of each token."""
    return map(_checksum, tokens)


@lru_cache(maxsize=131_072)
def _checksum(token: str) -> int:
    """Words come again and again: to remember them costs less than to encode them."""
    return zlib.crc32(token.encode())


@handle
@dataclass(slots=True)
class Items:
    """The items from the oldest that counts on, in a ring of rows."""

    rows: Rows


@kernel
def new_items(slots: int) -> Items:
    """No items, with room for so many: a power of two."""
    return Items(np.zeros((slots, COLUMNS), np.uint32))


@kernel
def put(items: Items, oldest: int, number: int, ids: Ids, simhash: int, group: int) -> None:
    """Keep an item in its row, with its signed SimHash. Those before `oldest` do not count; the rows double when full."""
    if number - oldest >= len(items.rows):
        old = items.rows
        items.rows = np.zeros((2 * len(old), COLUMNS), np.uint32)
        for kept in range(oldest, number):
            items.rows[kept & (len(items.rows) - 1)] = old[kept & (len(old) - 1)]
    row = items.rows[number & (len(items.rows) - 1)]
    size = min(len(ids), WIDTH)
    row[SIZE], row[GROUP], row[UPPER], row[LOWER] = size, group, simhash >> HALF & MASK, simhash & MASK
    for token in range(size):
        row[TOKENS + token] = ids[token]


@kernel
def move(items: Items, numbers: Numbers, oldest: int, group: int) -> None:
    """Put items into another group, as far as they count."""
    for number in numbers:
        if number >= oldest:
            items.rows[number & (len(items.rows) - 1), GROUP] = group


@kernel
def groups_of(items: Items, numbers: Numbers) -> Numbers:
    """The groups of items that count."""
    found = np.empty(len(numbers), np.int64)
    for index in range(len(numbers)):
        found[index] = items.rows[numbers[index] & (len(items.rows) - 1), GROUP]
    return found


@kernel
def simhashes_of(items: Items, numbers: Numbers) -> NDArray[np.uint64]:
    """The SimHashes of items that count."""
    found = np.empty(len(numbers), np.uint64)
    for index in range(len(numbers)):
        row = items.rows[numbers[index] & (len(items.rows) - 1)]
        found[index] = np.uint64(row[UPPER]) << np.uint64(HALF) | np.uint64(row[LOWER])
    return found


@kernel
def rank(
    items: Items,
    numbers: Numbers,
    shared: Numbers,
    ids: Ids,
    least_shared: int,
    least: float,
    scores: NDArray[np.float64],
    best: Numbers,
) -> int:
    """The `len(best)` candidates that are most similar to a token set, best first, then the earliest; returns how many.

    Fills `best` with their numbers and `scores` with their similarities, rounded to four places. Of the candidates,
    `numbers`, those with fewer `shared` bands than `least_shared` and those below `least` similarity are left out.
    """
    rows = items.rows
    most = len(best)
    count = 0
    own_low = np.zeros(256, np.bool_)  # most tokens of a candidate are not even like one of ours in their low bits
    for own in range(len(ids)):
        own_low[ids[own] & 255] = True
    for index in range(len(numbers)):
        if shared[index] < least_shared:
            continue
        row = rows[numbers[index] & (len(rows) - 1)]
        common = 0
        size = int(row[SIZE])
        for there in range(size):
            token = int(row[TOKENS + there])
            if not own_low[token & 255]:
                continue
            for own in range(len(ids)):
                if token == ids[own]:
                    common += 1
                    break
        score = common / (len(ids) + size - common)
        if score < least:
            continue
        place = count  # insertion into the best so far
        while place > 0 and (
            scores[place - 1] < score or (scores[place - 1] == score and best[place - 1] > numbers[index])
        ):
            place -= 1
        if place == most:
            continue
        count = min(count + 1, most)
        for after in range(count - 1, place, -1):
            scores[after] = scores[after - 1]
            best[after] = best[after - 1]
        scores[place] = score
        best[place] = numbers[index]
    for place in range(count):
        scores[place] = math.floor(scores[place] * 10_000 + 0.5) / 10_000
    return count
