"""Numbered items: the token set of each, to rank candidates by exact Jaccard similarity, its SimHash, and the group it is in.

Tokens are their CRC-32 values. Of longer sets the first WIDTH tokens are compared. A SimHash is held in halves, the upper first:
kernels have no unsigned 64-bit numbers that mix with others.
"""

import math
import zlib
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.buckets import SMALLEST, Numbers
from pipeline.similarity.compiled import kernel

WIDTH = 32

HALF = 32
LOWER = 2**HALF - 1
"""Bits of half a SimHash, and a mask for the lower half."""

Ids = NDArray[np.int64]
Prints = NDArray[np.uint32]
"""Of each slot, the halves of a SimHash."""


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
    """The items from the oldest that counts on, in a ring of slots."""

    def __init__(self) -> None:
        self.tokens = np.zeros((SMALLEST, WIDTH), np.uint32)
        self.sizes = np.zeros(SMALLEST, np.uint8)
        self.prints = np.zeros((SMALLEST, 2), np.uint32)
        self.group = np.zeros(SMALLEST, np.int32)

    def slot(self, number: int) -> int:
        """Where the arrays hold an item that counts."""
        return number & (len(self.sizes) - 1)  # slots are a power of two

    def print_of(self, number: int) -> int:
        """The SimHash of an item that counts."""
        upper, lower = self.prints[self.slot(number)].tolist()
        return int(upper) << HALF | int(lower)

    def reserve(self, number: int, oldest: int) -> None:
        """Make sure of a slot for an item; those before `oldest` no longer count."""
        if number - oldest >= len(self.sizes):
            self._grow(oldest, number)

    def move(self, numbers: list[int], group: int) -> None:
        """Put items into another group."""
        self.group[np.array(numbers, np.int64) % len(self.sizes)] = group

    def _grow(self, oldest: int, number: int) -> None:
        kept = np.arange(oldest, number)
        slots = 2 * len(self.sizes)
        for name in ("tokens", "sizes", "prints", "group"):
            old = getattr(self, name)
            new = np.zeros((slots, *old.shape[1:]), old.dtype)
            new[kept % slots] = old[kept % len(old)]
            setattr(self, name, new)


@kernel
def put(
    tokens: NDArray[np.uint32],
    sizes: NDArray[np.uint8],
    prints: Prints,
    groups: NDArray[np.int32],
    number: int,
    ids: Ids,
    upper: int,
    lower: int,
    group: int,
) -> None:
    """Keep an item in its slot, which was reserved; `upper` and `lower` are the halves of its SimHash."""
    slot = number & (len(sizes) - 1)  # slots are a power of two
    size = min(len(ids), WIDTH)
    for token in range(size):
        tokens[slot, token] = ids[token]
    sizes[slot] = size
    prints[slot, 0] = upper
    prints[slot, 1] = lower
    groups[slot] = group


@kernel
def rank(
    tokens: NDArray[np.uint32],
    sizes: NDArray[np.uint8],
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
    slots, most = len(sizes), len(best)
    count = 0
    own_low = np.zeros(256, np.bool_)  # most tokens of a candidate are not even like one of ours in their low bits
    for own in range(len(ids)):
        own_low[ids[own] & 255] = True
    for index in range(len(numbers)):
        if shared[index] < least_shared:
            continue
        slot = numbers[index] & (slots - 1)
        common = 0
        size = int(sizes[slot])
        for index_there in range(size):
            token = int(tokens[slot, index_there])
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
