"""Shingles of texts in UTF-8 and their exact Jaccard similarity, in compiled code: what `pipeline.similarity.shingles` defines.

A shingle is a run of bytes of the text. A set of shingles is a hash table over their CRC-32 values; two that have the same value
are compared byte by byte, so that nothing is estimated.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.compiled import handle, kernel
from pipeline.similarity.minhash_compiled import CRC, rolling
from pipeline.similarity.universal import LARGEST

Text = NDArray[np.uint8]
"""A text in UTF-8; of words, they are parted by one space."""
ROOM = 256
"""Shingles that there is room for at first."""


@handle
@dataclass(slots=True)
class Shingles:
    """The shingles of one text, of another one after it: the arrays are used again."""

    starts: NDArray[np.int64]
    """the byte at which each character or word starts, and where one more would"""
    checksums: NDArray[np.uint32]
    """of each shingle, in reading order"""
    table: NDArray[np.int64]
    """number of the shingle in each slot; it counts if `taken` is `turn`"""
    taken: NDArray[np.int64]
    met: NDArray[np.int64]
    """by shingle, the last call of `common` that met it"""
    leaving: NDArray[np.uint32]
    zeros: int
    """what rolls a checksum on: see `rolling`"""
    words: bool
    width: int
    count: int
    """shingles, the repeated ones too"""
    run: int
    """characters or words of a shingle of this text"""
    size: int
    """different shingles, once `index` was called"""
    turn: int
    """calls of `index`"""
    asked: int
    """calls of `common`"""


def new_shingles(width: int, *, words: bool) -> Shingles:
    """Room for the shingles of so many characters, or words."""
    return _new(*rolling(width), words, width)


@kernel
def _new(leaving: NDArray[np.uint32], zeros: int, words: bool, width: int) -> Shingles:
    return Shingles(
        np.empty(ROOM + width + 1, np.int64),
        np.empty(ROOM, np.uint32),
        np.zeros(2 * ROOM, np.int64),
        np.zeros(2 * ROOM, np.int64),
        np.zeros(ROOM, np.int64),
        leaving,
        zeros,
        words,
        width,
        0,
        0,
        0,
        0,
        0,
    )


@kernel
def cut(shingles: Shingles, text: Text) -> None:
    """Find the shingles of a text and their checksums."""
    if len(text) > len(shingles.checksums):
        room = 2 * len(text)
        shingles.starts, shingles.checksums = np.empty(room + shingles.width + 1, np.int64), np.empty(room, np.uint32)
        shingles.met = np.zeros(room, np.int64)
    units = _find_starts(shingles.starts, text, shingles.words)
    run = min(units, shingles.width)
    count = units - run + 1 if units > 0 else 0
    shingles.run, shingles.count = run, count
    checksums = shingles.checksums
    if units == len(text) and count > 1 and not shingles.words:  # a byte a character: roll from one run to the next
        rest = np.uint32(0)
        for index in range(units):
            rest = CRC[(rest ^ text[index]) & np.uint32(255)] ^ (rest >> np.uint32(8))
            if index >= run:
                rest ^= shingles.leaving[text[index - run]]
            if index >= run - 1:
                checksums[index - run + 1] = rest ^ np.uint32(shingles.zeros)
        return
    for number in range(count):
        rest = np.uint32(LARGEST)
        for index in range(shingles.starts[number], _end(shingles, number)):
            rest = CRC[(rest ^ text[index]) & np.uint32(255)] ^ (rest >> np.uint32(8))
        checksums[number] = ~rest


@kernel
def _find_starts(starts: NDArray[np.int64], text: Text, words: bool) -> int:
    """Fill in where each unit starts; returns how many there are."""
    units = 0
    if words:
        for index in range(len(text)):
            if index == 0 or text[index - 1] == 32:
                starts[units] = index
                units += 1
        starts[units] = len(text) + 1
        return units
    for index in range(len(text)):
        if text[index] & 0xC0 != 0x80:  # not the continuation of a character
            starts[units] = index
            units += 1
    starts[units] = len(text)
    return units


@kernel
def _end(shingles: Shingles, number: int) -> int:
    """The byte after a shingle."""
    end: int = shingles.starts[number + shingles.run]
    return end - 1 if shingles.words else end


@kernel
def _same(shingles: Shingles, text: Text, number: int, others: Shingles, other_text: Text, other: int) -> bool:
    start, there = shingles.starts[number], others.starts[other]
    length = _end(shingles, number) - start
    if _end(others, other) - there != length:
        return False
    for index in range(length):  # noqa: SIM110 - numba takes no generators
        if text[start + index] != other_text[there + index]:
            return False
    return True


@kernel
def index(shingles: Shingles, text: Text) -> None:
    """Enter the shingles that were cut from a text into the table, each once."""
    if 2 * shingles.count > len(shingles.table):
        slots = len(shingles.table)
        while slots < 2 * shingles.count:
            slots *= 2
        shingles.table, shingles.taken = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
    shingles.turn += 1
    turn, last = shingles.turn, len(shingles.table) - 1
    table, taken, checksums = shingles.table, shingles.taken, shingles.checksums
    size = 0
    for number in range(shingles.count):
        slot = int(checksums[number]) & last
        while taken[slot] == turn and not (
            checksums[table[slot]] == checksums[number] and _same(shingles, text, table[slot], shingles, text, number)
        ):
            slot = (slot + 1) & last
        if taken[slot] != turn:
            taken[slot] = turn
            table[slot] = number
            size += 1
    shingles.size = size


@kernel
def common(shingles: Shingles, text: Text, others: Shingles, other_text: Text) -> int:
    """How many different shingles of another text, `others`, which were cut, are in the table of `shingles`."""
    shingles.asked += 1
    mark, turn, last = shingles.asked, shingles.turn, len(shingles.table) - 1
    table, taken, checksums = shingles.table, shingles.taken, shingles.checksums
    found = 0
    for other in range(others.count):
        checksum = others.checksums[other]
        slot = int(checksum) & last
        while taken[slot] == turn:
            number = table[slot]
            if checksums[number] == checksum and _same(shingles, text, number, others, other_text, other):
                if shingles.met[number] != mark:
                    shingles.met[number] = mark
                    found += 1
                break
            slot = (slot + 1) & last
    return found
