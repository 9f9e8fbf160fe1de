"""Renewal: a cluster that has an event bursts again; is that another event?

One cluster can hold two happenings that read alike: a tour and, a day later, the singer's illness. Each new burst is
compared with the windows in which the cluster broke before, by what changed in their mean TF-IDF vectors.

    stories of a cluster   --o-ooo-oo---o--------o--o-oo-ooo----->
                             |window|              | window |
                             event 1   compared  : event 2 if another, else more of event 1
"""

import math
from collections.abc import Mapping, Sequence
from operator import mul

from pipeline.similarity.tfidf import UNIT
from pipeline.stages.scores import affinity, inner_similarity, log_hours
from pipeline.stages.weights import RenewWeights

Vector = Mapping[str, int]
"""A TF-IDF vector in fixed point."""


def renew_features(earlier: Sequence[Vector], new: Sequence[Vector], gap: int) -> RenewWeights:
    """The features of two windows of one cluster, each of at least two stories; `gap` is the time between, in microseconds."""
    old, young = _mean(earlier), _mean(new)
    across = sum(weight * old.get(token, 0.0) for token, weight in young.items())
    old_square, young_square = (sum(weight * weight for weight in mean.values()) for mean in (old, young))
    within = [
        max(0.01, inner_similarity(square * size * size * UNIT * UNIT, size))
        for square, size in ((old_square, len(earlier)), (young_square, len(new)))
    ]
    change = sorted([0.0, 0.0, *(young.get(token, 0.0) - old.get(token, 0.0) for token in old | young)])
    return RenewWeights(
        1.0,
        math.log(across / math.sqrt(old_square * young_square) + 0.01),
        affinity(across, *within),
        math.log(within[0]),
        math.log(within[1]),
        log_hours(max(0, gap)),
        math.log(len(new)),
        change[-1],
        change[-2],
        -change[0],
        -change[1],
        max(min(weight, old.get(token, 0.0)) for token, weight in young.items()),
    )


def renew_score(weight: RenewWeights, features: RenewWeights) -> float:
    """Log-odds that the new window is about another event than the earlier one."""
    return math.fsum(map(mul, weight, features))


def _mean(vectors: Sequence[Vector]) -> dict[str, float]:
    sums: dict[str, int] = {}
    for vector in vectors:
        for token, weight in vector.items():
            sums[token] = sums.get(token, 0) + weight
    return {token: total / (UNIT * len(vectors)) for token, total in sums.items()}
