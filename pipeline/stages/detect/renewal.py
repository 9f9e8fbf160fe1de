"""Renewal: a cluster that has an event bursts again; is that another event?

One cluster can hold two happenings that read alike: a tour and, a day later, the singer's illness. Each new burst is
compared with the windows in which the cluster broke before, by what changed in their mean TF-IDF vectors.

    stories of a cluster   --o-ooo-oo---o--------o--o-oo-ooo----->
                             |window|              | window |
                             event 1   compared  : event 2 if another, else more of event 1
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import mul
from typing import Any, NamedTuple

from pipeline.similarity.tfidf import UNIT
from pipeline.stages.features import affinity, inner_similarity, log_hours
from pipeline.stages.weights import RenewWeights

Vector = Iterable[tuple[Any, int]]
"""A TF-IDF vector in fixed point: each token, or what stands for it, and its weight."""


MIN_FOR_SIMILARITY = 2
"""Stories that have a mean similarity."""


class Burst(NamedTuple):
    """The stories of a window, as they are compared."""

    size: int
    mean: dict[Any, float]
    """the mean of their vectors, each of length one"""
    square: float
    """the squared length of the mean"""


def burst(vectors: Sequence[Vector]) -> Burst:
    """The mean of at least two vectors."""
    sums: defaultdict[Any, int] = defaultdict(int)
    for vector in vectors:
        for token, weight in vector:
            sums[token] += weight
    mean = {token: total / (UNIT * len(vectors)) for token, total in sums.items()}
    return Burst(len(vectors), mean, math.fsum(weight * weight for weight in mean.values()))


def renew_features(earlier: Burst, new: Burst, gap: int) -> RenewWeights:
    """The features of two windows of one cluster; `gap` is the time between, in microseconds."""
    old, young = earlier.mean, new.mean
    across = kept = 0.0
    change = [0.0, 0.0]
    for token, weight in young.items():
        before = old.get(token)
        if before is None:
            change.append(weight)
            continue
        across += weight * before
        kept = max(kept, min(weight, before))
        change.append(weight - before)
    change += [-weight for token, weight in old.items() if token not in young]
    change.sort()
    within = [
        max(0.01, inner_similarity(part.square * part.size * part.size * UNIT * UNIT, part.size))
        for part in (earlier, new)
    ]
    return RenewWeights(
        1.0,
        math.log(across / math.sqrt(earlier.square * new.square) + 0.01),
        affinity(across, *within),
        math.log(within[0]),
        math.log(within[1]),
        log_hours(max(0, gap)),
        math.log(new.size),
        change[-1],
        change[-2],
        -change[0],
        -change[1],
        kept,
    )


def renew_score(weight: RenewWeights, features: RenewWeights) -> float:
    """Log-odds that the new window is about another event than the earlier one."""
    return math.fsum(map(mul, weight, features))
