"""Groups of near-duplicates: texts that are linked by similar pairs (single link), and the one that stands for each."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.corpus.collection import Collection
from pipeline.corpus.join import band_name
from pipeline.corpus.work import Work
from pipeline.similarity.join import connect, flatten, similarities
from pipeline.similarity.sign_texts import Scheme

Keep = Literal["first", "last", "longest"]
"""Which document of a group stands for it."""


AT_ONCE = 50_000
"""Groups that are compared with the documents that stand for them at once."""


class Group(NamedTuple):
    """The documents of a group by their numbers, and how similar each is to the one that stands for it."""

    representative: int
    members: list[int]
    similarities: list[float]


def group_documents(work: Work, collection: Collection, bands: int) -> NDArray[np.int32]:
    """The first document of the group of each document: its own number if it is in none."""
    groups = np.array(collection.first, np.int32)
    for band in range(bands):
        connect(groups, np.asarray(work.open(band_name(band))))
    flatten(groups)
    return groups


def representatives(collection: Collection, groups: NDArray[np.int32], keep: Keep) -> NDArray[np.int32]:
    """The document that stands for the group of each document: of several longest ones, the first."""
    if keep == "first":
        return groups
    numbers = np.arange(len(groups))
    rank = np.diff(collection.texts.ends) if keep == "longest" else numbers
    order = np.lexsort((numbers, -rank, groups))  # by group, and in it the one to keep first
    ordered = groups[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)])
    chosen = np.arange(len(groups), dtype=np.int32)
    chosen[ordered[begins]] = order[begins]
    return chosen[groups]


def groups_of(
    collection: Collection, groups: NDArray[np.int32], chosen: NDArray[np.int32], scheme: Scheme, *, estimated: bool
) -> Iterator[Group]:
    """The groups of more than one document, in the order of their first ones."""
    counts = np.bincount(groups, minlength=len(groups))
    order = np.argsort(groups, kind="stable")
    order = order[counts[groups[order]] > 1]
    ends = np.cumsum(counts[counts > 1])
    begin = 0
    for last in range(0, len(ends), AT_ONCE):
        upto = ends[last : last + AT_ONCE]
        members = order[begin : upto[-1]]
        standing = chosen[members].astype(np.int64)
        if estimated:
            alike = (collection.signatures[members] == collection.signatures[standing]).mean(axis=1)
        else:
            pairs = np.column_stack([standing, members])
            found = similarities(pairs, collection.sizes, collection.texts, scheme)
            alike = found[:, 2] / found[:, 3]
        numbers, shares = members.tolist(), np.round(alike, 4).tolist()
        start = 0
        for end in (upto - begin).tolist():
            yield Group(int(standing[start]), numbers[start:end], shares[start:end])
            start = end
        begin = upto[-1]
