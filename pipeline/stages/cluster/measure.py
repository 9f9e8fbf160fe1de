"""Measure: how large the state of an edition's clustering is, for those who run it."""

from typing import NamedTuple

import numpy as np

from pipeline.similarity.compiled import kernel
from pipeline.stages.cluster.kernels import Window
from pipeline.stages.cluster.state import ClusterState

EMPTY = -1
"""The head of a chain without items."""


class Size(NamedTuple):
    """What an edition holds."""

    stories: int
    clusters: int
    bytes: int
    """of the arrays of its window"""
    buckets: int
    """chains of all bands ..."""
    filled: int
    """... and those that have an item, if only one that no longer counts"""


def measure(state: ClusterState) -> Size:
    """What an edition holds. It takes about a millisecond for each million buckets."""
    held, buckets, filled = _measure(state.window)
    return Size(len(state.seen), len(state.clusters), held, buckets, filled)


@kernel
def _measure(window: Window) -> tuple[int, int, int]:
    head = window.buckets.head
    held = head.nbytes + window.buckets.node.nbytes + window.buckets.seen.nbytes + window.items.rows.nbytes
    held += window.came.nbytes + window.facts.nbytes
    for sums in (window.centroids, window.ties):
        held += sums.owners.nbytes + sums.entries.nbytes + sums.heads.nbytes + sums.free.nbytes
    return held, head.size, int(np.count_nonzero(head != EMPTY))
