"""The learned score of joining: does a story belong to a cluster?"""

import math

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.buckets import Numbers
from pipeline.similarity.centroids import DOCUMENTS, EMPTY, SUM, Centroids, Weights, place
from pipeline.similarity.compiled import kernel
from pipeline.similarity.items import Ids
from pipeline.similarity.tfidf import BACKGROUND_FREQUENCY, UNIT
from pipeline.stages.cluster.facts import FIRST, LAST, OPENED, SEEN, SIZE, SQUARE, Facts
from pipeline.stages.features import log_hours
from pipeline.stages.rules import MatchRule

Vector = tuple[Ids, Weights, NDArray[np.float64]]
"""A story's tokens, those of the headline first; their weights; and of those tokens the idf, the rarity, and whether they are
marked, a row each."""


@kernel
def gap(facts: Facts, group: int, time: int) -> int:
    """How long a time is before a cluster's first story or after its last; 0 between them."""
    return int(max(0, time - facts[group, LAST], facts[group, FIRST] - time))


@kernel
def score_joins(
    centroids: Centroids,
    facts: Facts,
    groups: Numbers,
    vector: Vector,
    time: int,
    stories: int,
    rule: MatchRule,
    join_weights: NDArray[np.float64],
    nearest: Numbers,
    features: NDArray[np.float64],
) -> int:
    """Of some clusters, repeats allowed, the `len(nearest)` nearest to a story, with their join scores and features.

    A row of `features` holds the features of one of `nearest`, in the order of JoinWeights, and then the score: the log-odds that
    the story belongs to the cluster. Returns how many it found.
    """
    cosines = np.zeros(len(nearest))
    count = _find_nearest(centroids, facts, groups, vector, time, rule, nearest, cosines)
    last = len(join_weights)
    for rank in range(count):
        by_chance = _fill_features(centroids, facts, nearest[rank], vector, time, cosines[rank], features[rank])
        features[rank, last] = 0.0
        for feature in range(last):
            features[rank, last] += join_weights[feature] * features[rank, feature]
        if by_chance and stories < rule.acquainted_at:
            features[rank, last] = -math.inf
    return count


@kernel
def _find_nearest(
    centroids: Centroids,
    facts: Facts,
    groups: Numbers,
    vector: Vector,
    time: int,
    rule: MatchRule,
    nearest: Numbers,
    cosines: NDArray[np.float64],
) -> int:
    """Fill in the nearest clusters and their cosines; returns how many there are.

    Near is the cosine of the story and the centroid, less for clusters without a story at about its time; MatchRule says which
    clusters count.
    """
    owners, entries = centroids.owners, centroids.entries
    ids, weights, _ = vector
    nearness = np.zeros(len(nearest))
    count = 0
    for group in groups:
        if facts[group, SEEN] > 0:
            continue
        facts[group, SEEN] = 1
        away = gap(facts, group, time)
        too_old = time - facts[group, FIRST] > rule.longest_life
        if away > rule.look_back or too_old or facts[group, SIZE] >= rule.largest:
            continue
        product = 0
        for token in range(len(ids)):
            entry = place(owners, group, ids[token])
            if owners[entry] != EMPTY:
                product += weights[token] * int(entries[entry, SUM])
        cosine = product / (UNIT * math.sqrt(facts[group, SQUARE]))
        near = cosine * math.exp(-away / rule.decay)
        if near < rule.least_cosine:
            continue
        rank = count
        while rank > 0 and (
            nearness[rank - 1] < near
            or (nearness[rank - 1] == near and facts[nearest[rank - 1], OPENED] > facts[group, OPENED])
        ):
            rank -= 1
        if rank == len(nearest):
            continue
        count = min(count + 1, len(nearest))
        for after in range(count - 1, rank, -1):
            nearness[after], cosines[after], nearest[after] = (
                nearness[after - 1],
                cosines[after - 1],
                nearest[after - 1],
            )
        nearness[rank], cosines[rank], nearest[rank] = near, cosine, group
    for group in groups:
        facts[group, SEEN] = 0
    return count


@kernel
def _fill_features(
    centroids: Centroids,
    facts: Facts,
    group: int,
    vector: Vector,
    time: int,
    cosine: float,
    features: NDArray[np.float64],
) -> bool:
    """Fill in the features of a story and a cluster; returns whether they share a single word, which the background holds."""
    owners, entries = centroids.owners, centroids.entries
    ids, _, terms = vector
    idf, rarity, marked = terms[0], terms[1], terms[2]
    words = len(idf)
    size = facts[group, SIZE]
    often = max(1.0, 0.1 * size)
    total = specificity = capital = coverage = common = 0.0
    shared = latest = 0
    for token in range(words):
        total += idf[token]
        entry = place(owners, group, ids[token])
        if owners[entry] == EMPTY or entries[entry, DOCUMENTS] == 0:
            continue
        holding = int(entries[entry, DOCUMENTS])
        shared += 1
        latest = token
        specificity += math.log1p(0.5 / (size + 2.0) * holding * rarity[token])
        coverage += idf[token]
        if marked[token] > 0:
            capital += idf[token] * holding / size
        if holding >= often:
            common += 1.0
    features[0] = 1.0
    features[1] = math.log(cosine + 0.01)
    features[2] = log_hours(gap(facts, group, time))
    features[3] = math.log(size)
    features[4] = log_hours(max(0, time - facts[group, FIRST]))
    features[5] = specificity / words
    features[6] = capital
    features[7] = common
    features[8] = coverage / total
    features[9] = words
    single = shared == 1 < words
    features[10] = 1.0 if single else 0.0
    return bool(single and owners[place(owners, BACKGROUND_FREQUENCY, ids[latest])] != EMPTY)
