"""The join of a collection with itself: all pairs of texts that share a band and are as similar as is asked for.

    keys of a band --sort--> runs of equal keys --each pair in a run--> similar? --> edges

This is what bucket tables do for a stream, for all texts at once: a run of equal keys is a bucket. Sorting needs 24 bytes a
text, and nothing but what one band has is in memory.

A pair is looked at in the first band that it shares. Where only groups are wanted (`parents`), a pair is passed over whose texts
are in one group already: so a thousand near copies cost a thousand comparisons, and not half a million.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.compiled import handle, kernel, unlocked_kernel
from pipeline.similarity.shingles_compiled import Shingles, common, cut, index, new_shingles
from pipeline.similarity.sign_texts import Scheme, Texts

Edges = NDArray[np.int64]
"""Pairs of texts that are similar, a line each: the earlier, the later, what they have in common, and what both have.

The last two are numbers of shingles, or of equal rows and of rows.
"""
ROOM = 1_024
"""Edges that there is room for at first."""
NUMBER = np.uint64(2**32 - 1)
"""The bits of a sorted key that are the text's number."""


@handle
@dataclass(slots=True)
class Documents:
    """What a join knows of the texts."""

    texts: NDArray[np.uint8]
    ends: NDArray[np.int64]
    sizes: NDArray[np.uint32]
    keys: NDArray[np.uint32]
    parents: NDArray[np.int32]
    """the forest of groups; empty where every edge is wanted"""
    rows: NDArray[np.uint32]
    """signatures; without rows where nothing is estimated"""


def runs(keys: NDArray[np.uint32], counts: NDArray[np.bool_], part: int, parts: int) -> NDArray[np.uint64]:
    """The keys of a band with the numbers of the texts that count, sorted: `key << 32 | number`.

    Of `parts` parts, each with a range of the keys, the one with this number, from 0.
    """
    low, high = -(-part * 2**32 // parts), -(-(part + 1) * 2**32 // parts)
    mine = np.flatnonzero(counts & (keys >= low) & (keys < high) if parts > 1 else counts)
    packed: NDArray[np.uint64] = keys[mine].astype(np.uint64) << np.uint64(32) | mine.astype(np.uint64)
    packed.sort()
    return packed


def first_copies(packed: NDArray[np.uint64], texts: Texts, first: NDArray[np.int32]) -> None:
    """Fill in the first text that is equal, byte for byte, of each of those whose checksums are sorted here."""
    _first_copies(packed, texts.bytes, texts.ends, first)


@unlocked_kernel
def _first_copies(
    packed: NDArray[np.uint64], texts: NDArray[np.uint8], ends: NDArray[np.int64], first: NDArray[np.int32]
) -> None:
    start = 0
    while start < len(packed):
        stop = _run(packed, start)
        for place in range(start, stop):
            number = np.int64(packed[place] & NUMBER)
            first[number] = number
            length = ends[number + 1] - ends[number]
            for before in range(start, place):
                other = np.int64(packed[before] & NUMBER)
                if first[other] == other and ends[other + 1] - ends[other] == length:
                    at = 0
                    while at < length and texts[ends[other] + at] == texts[ends[number] + at]:
                        at += 1
                    if at == length:
                        first[number] = other
                        break
        start = stop


@kernel
def _run(packed: NDArray[np.uint64], start: int) -> int:
    """Where the run of equal keys ends that starts here."""
    key = packed[start] >> np.uint64(32)
    stop = start + 1
    while stop < len(packed) and packed[stop] >> np.uint64(32) == key:
        stop += 1
    return stop


def join(
    packed: NDArray[np.uint64],
    band: int,
    keys: NDArray[np.uint32],
    sizes: NDArray[np.uint32],
    texts: Texts,
    scheme: Scheme,
    least: float,
    parents: NDArray[np.int32] | None = None,
    signatures: NDArray[np.uint32] | None = None,
) -> Edges:
    """The edges of a band's `runs`: pairs of at least `least` Jaccard similarity that share no band before.

    With `parents`, a forest of groups that it changes, only edges that join two groups. With `signatures` the similarity is
    estimated: the share of equal rows. Compiled, it lets other threads run meanwhile.
    """
    documents = Documents(
        texts.bytes,
        texts.ends,
        sizes,
        keys,
        np.empty(0, np.int32) if parents is None else parents,
        np.empty((0, 0), np.uint32) if signatures is None else signatures,
    )
    room = new_shingles(scheme.width, words=scheme.unit == "words")
    other = new_shingles(scheme.width, words=scheme.unit == "words")
    return _join(packed, band, documents, room, other, least)


@unlocked_kernel
def _join(
    packed: NDArray[np.uint64], band: int, documents: Documents, room: Shingles, other: Shingles, least: float
) -> Edges:
    texts, ends, sizes, keys = documents.texts, documents.ends, documents.sizes, documents.keys
    parents, rows = documents.parents, documents.rows
    every, estimated = len(parents) == 0, rows.shape[1] > 0
    edges, count = np.empty((ROOM, 4), np.int64), 0
    start = 0
    while start < len(packed):
        stop = _run(packed, start)
        groups = stop - start if every or stop - start < 2 else _groups(packed[start:stop], parents)
        for place in range(start, stop):
            if groups < 2:
                break
            left = int(np.int64(packed[place] & NUMBER))
            text = texts[ends[left] : ends[left + 1]]
            entered = estimated
            for after in range(place + 1, stop):
                right = int(np.int64(packed[after] & NUMBER))
                if not estimated and min(sizes[left], sizes[right]) / max(sizes[left], sizes[right]) < least:
                    continue  # the smaller set whole would be too small a share
                if _met_before(keys, band, left, right) if every else root(parents, left) == root(parents, right):
                    continue
                if not entered:
                    _enter(room, text)
                    entered = True
                if estimated:
                    whole, shared = rows.shape[1], (rows[left] == rows[right]).sum()
                else:
                    other_text = texts[ends[right] : ends[right + 1]]
                    cut(other, other_text)
                    shared = common(room, text, other, other_text)
                    whole = np.int64(sizes[left]) + np.int64(sizes[right]) - shared
                if shared / whole < least:
                    continue
                if count == len(edges):
                    edges = np.concatenate((edges, np.empty_like(edges)))
                edges[count] = left, right, shared, whole
                count += 1
                if not every:
                    unite(parents, left, right)
                    groups -= 1
        start = stop
    return edges[:count].copy()


@kernel
def _enter(room: Shingles, text: NDArray[np.uint8]) -> None:
    cut(room, text)
    index(room, text)


@kernel
def _met_before(keys: NDArray[np.uint32], band: int, left: int, right: int) -> bool:
    for earlier in range(band):  # noqa: SIM110 - numba takes no generators
        if keys[earlier, left] == keys[earlier, right]:
            return True
    return False


@kernel
def _groups(run: NDArray[np.uint64], parents: NDArray[np.int32]) -> int:
    """How many groups the texts of a run are in."""
    roots = np.empty(len(run), np.int64)
    for place in range(len(run)):
        roots[place] = root(parents, int(np.int64(run[place] & NUMBER)))
    roots.sort()
    groups = 1
    for place in range(1, len(roots)):
        groups += roots[place] != roots[place - 1]
    return groups


@kernel
def root(parents: NDArray[np.int32], number: int) -> int:
    """The first text of the group that a text is in (Tarjan and van Leeuwen 1984, path halving)."""
    while parents[number] != number:
        parents[number] = parents[parents[number]]
        number = parents[number]
    return number


@kernel
def unite(parents: NDArray[np.int32], left: int, right: int) -> None:
    """Make one group of those of two texts. A group's root is its earliest text."""
    left, right = root(parents, left), root(parents, right)
    parents[max(left, right)] = min(left, right)


@unlocked_kernel
def connect(parents: NDArray[np.int32], edges: Edges) -> None:
    """Unite the groups of each edge."""
    for edge in range(len(edges)):
        unite(parents, edges[edge, 0], edges[edge, 1])


@unlocked_kernel
def flatten(parents: NDArray[np.int32]) -> None:
    """Have each text point at the first of its group."""
    for number in range(len(parents)):
        parents[number] = root(parents, number)


def similarities(pairs: NDArray[np.int64], sizes: NDArray[np.uint32], texts: Texts, scheme: Scheme) -> Edges:
    """Pairs with what they have in common and what both have. It is cheapest if those with the same left text are together."""
    room = new_shingles(scheme.width, words=scheme.unit == "words")
    other = new_shingles(scheme.width, words=scheme.unit == "words")
    return _similarities(pairs, sizes, texts.bytes, texts.ends, room, other)


@unlocked_kernel
def _similarities(
    pairs: NDArray[np.int64],
    sizes: NDArray[np.uint32],
    texts: NDArray[np.uint8],
    ends: NDArray[np.int64],
    room: Shingles,
    other: Shingles,
) -> Edges:
    edges = np.empty((len(pairs), 4), np.int64)
    entered = np.int64(-1)
    for pair in range(len(pairs)):
        left, right = pairs[pair, 0], pairs[pair, 1]
        text, other_text = texts[ends[left] : ends[left + 1]], texts[ends[right] : ends[right + 1]]
        if left != entered:
            _enter(room, text)
            entered = left
        cut(other, other_text)
        shared = common(room, text, other, other_text)
        edges[pair] = left, right, shared, np.int64(sizes[left]) + np.int64(sizes[right]) - shared
    return edges
