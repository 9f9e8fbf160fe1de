"""The learned score of merging: are clusters that a story might belong to about one event?"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.buckets import Numbers
from pipeline.similarity.centroids import Centroids, dot
from pipeline.similarity.compiled import kernel
from pipeline.similarity.tfidf import UNIT
from pipeline.stages.cluster.facts import FIRST, LAST, OPENED, SIZE, SQUARE, Facts
from pipeline.stages.cluster.ties import ties_between
from pipeline.stages.features import affinity, inner_similarity, log_hours
from pipeline.stages.rules import MatchRule


class Extent(NamedTuple):
    """What the merge score sees of a cluster, or of several that would be one."""

    first: int
    last: int
    size: int
    square: int


@kernel
def score_merges(
    centroids: Centroids,
    ties: Centroids,
    facts: Facts,
    near: Numbers,
    scores: NDArray[np.float64],
    rule: MatchRule,
    merge_weights: NDArray[np.float64],
    joins: Numbers,
    taken: NDArray[np.bool_],
    features: NDArray[np.float64],
) -> int:
    """Which of the clusters `near` a story it joins, as one; `scores` are their log-odds that it belongs to them.

    It joins the best if that reaches `join_from`; the others from `merge_candidate_from` on merge with it, the better first, if
    their merge score reaches `merge_from` and all are not too large. Fills `joins` with those that were compared, the best first;
    which of them are `taken` as one; and from the second on the features of the comparison with those taken before. Returns how
    many were compared: 0 if the story joins none.
    """
    best = -math.inf
    for index in range(len(near)):
        best = max(best, scores[index])
    if len(near) == 0 or best < rule.join_from:
        return 0
    ordered = np.empty(len(near))
    count = 0
    for index in range(len(near)):
        score, group = scores[index], near[index]
        if score < min(rule.merge_candidate_from, best):
            continue
        place = count
        while place > 0 and (
            ordered[place - 1] < score
            or (ordered[place - 1] == score and facts[joins[place - 1], OPENED] > facts[group, OPENED])
        ):
            ordered[place], joins[place] = ordered[place - 1], joins[place - 1]
            place -= 1
        ordered[place], joins[place] = score, group
        count += 1
    taken[0] = True
    whole = _extent(facts, joins[0])
    for index in range(1, count):
        other = _extent(facts, joins[index])
        across = tied = 0
        for part in range(index):
            if taken[part]:
                across += dot(centroids, joins[part], joins[index])
                tied += ties_between(ties, joins[part], joins[index])
        _compare(whole, other, across, tied, ordered[0], ordered[index], features[index])
        score = 0.0
        for feature in range(len(merge_weights)):
            score += merge_weights[feature] * features[index, feature]
        taken[index] = score >= rule.merge_from and whole.size + other.size < rule.largest
        if taken[index]:
            whole = _joined(whole, other, across)
    return count


@kernel
def _extent(facts: Facts, group: int) -> Extent:
    return Extent(facts[group, FIRST], facts[group, LAST], facts[group, SIZE], facts[group, SQUARE])


@kernel
def _joined(left: Extent, right: Extent, across: int) -> Extent:
    """Two clusters as one; `across` is the inner product of their sums."""
    return Extent(
        min(left.first, right.first),
        max(left.last, right.last),
        left.size + right.size,
        left.square + right.square + 2 * across,
    )


@kernel
def _compare(
    left: Extent,
    right: Extent,
    across: int,
    tied: int,
    best_join: float,
    other_join: float,
    features: NDArray[np.float64],
) -> None:
    """Fill in the features of two clusters, in the order of MergeWeights.

    `across` is the inner product of their sums, and `tied` how many stories tie them.
    """
    larger, smaller = (left, right) if left.size >= right.size else (right, left)
    first, last = min(left.first, right.first), max(left.last, right.last)
    long, short = math.sqrt(larger.square), math.sqrt(smaller.square)
    features[0] = 1.0
    features[1] = math.log(across / (long * short) + 0.01)
    features[2] = math.log(smaller.size)
    features[3] = long / (UNIT * larger.size)
    features[4] = short / (UNIT * smaller.size)
    features[5] = 1.0 / (1.0 + math.exp(-best_join))
    features[6] = 1.0 / (1.0 + math.exp(-other_join))
    features[7] = log_hours(abs(larger.first - smaller.first))
    features[8] = log_hours(last - first)
    features[9] = log_hours(abs(larger.last - smaller.last))
    features[10] = affinity(
        across / (UNIT * UNIT * larger.size * smaller.size),
        inner_similarity(larger.square, larger.size),
        inner_similarity(smaller.square, smaller.size),
    )
    features[11] = math.log1p(tied)
