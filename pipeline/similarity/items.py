"""Numbered items: the token set of each, to rank candidates by exact Jaccard similarity, its SimHash, and the group it is in.

Tokens are their CRC-32 values. Of longer sets the first WIDTH tokens are compared. Candidates are anywhere in memory, and waiting
for it is what they cost: so all that is looked at of an item is one row, of two lines of memory.

    row   | size | group | SimHash, upper half | lower half | token | token | ...
"""

import math
import zlib
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.buckets import SMALLEST, Numbers
from pipeline.similarity.compiled import kernel

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


class Items:
    """The items from the oldest that counts on, in a ring of rows."""

    def __init__(self) -> None:
        self.rows: Rows = np.zeros((SMALLEST, COLUMNS), np.uint32)

    def slot(self, number: int) -> int:
        """In which row an item is that counts."""
        return number & (len(self.rows) - 1)  # rows are a power of two

    def print_of(self, number: int) -> int:
        """The SimHash of an item that counts."""
        row = self.rows[self.slot(number)]
        return int(row[UPPER]) << HALF | int(row[LOWER])

    def group_of(self, number: int) -> int:
        """The group that an item is in that counts."""
        return int(self.rows[self.slot(number), GROUP])

    def reserve(self, number: int, oldest: int) -> None:
        """Make sure of a row for an item; those before `oldest` no longer count."""
        if number - oldest >= len(self.rows):
            kept, old = np.arange(oldest, number), self.rows
            self.rows = np.zeros((2 * len(old), COLUMNS), np.uint32)
            self.rows[kept % len(self.rows)] = old[kept % len(old)]

    def move(self, numbers: list[int], group: int) -> None:
        """Put items into another group."""
        self.rows[np.array(numbers, np.int64) % len(self.rows), GROUP] = group


@kernel
def put(items: Rows, number: int, ids: Ids, upper: int, lower: int, group: int) -> None:
    """Keep an item in its row, which was reserved; `upper` and `lower` are the halves of its SimHash."""
    row = items[number & (len(items) - 1)]
    size = min(len(ids), WIDTH)
    row[SIZE], row[GROUP], row[UPPER], row[LOWER] = size, group, upper, lower
    for token in range(size):
        row[TOKENS + token] = ids[token]


@kernel
def rank(
    items: Rows,
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
    most = len(best)
    count = 0
    own_low = np.zeros(256, np.bool_)  # most tokens of a candidate are not even like one of ours in their low bits
    for own in range(len(ids)):
        own_low[ids[own] & 255] = True
    for index in range(len(numbers)):
        if shared[index] < least_shared:
            continue
        row = items[numbers[index] & (len(items) - 1)]
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
