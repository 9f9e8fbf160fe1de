"""The learned score of joining: does a story belong to a cluster?"""

import math

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.centroids import EMPTY, HELD, SUM, Entries, Owners, place
from pipeline.similarity.compiled import kernel
from pipeline.similarity.items import Ids
from pipeline.similarity.tfidf import UNIT
from pipeline.times import HOUR

FIRST, LAST, SIZE, SQUARE, OPENED, SEEN = range(6)
"""Columns of the table of clusters: times of the first and last story, stories, squared length of the sum of vectors, the
position of the story that opened it, and zero (a kernel marks there what it has seen)."""

Facts = NDArray[np.int64]


@kernel
def consider(  # noqa: PLR0912, PLR0915 - one kernel, so that nothing goes back and forth
    groups: NDArray[np.int64],
    facts: Facts,
    owners: Owners,
    entries: Entries,
    ids: Ids,
    weights: NDArray[np.int64],
    terms: NDArray[np.float64],
    time: int,
    look_back: int,
    longest_life: int,
    largest: int,
    decay: int,
    least_cosine: float,
    join: NDArray[np.float64],
    best: NDArray[np.int64],
    features: NDArray[np.float64],
) -> int:
    """Of some clusters, repeats allowed, the `len(best)` nearest to a story, with their join scores and what these are made of.

    Near is the cosine of the story and the centroid, less for clusters without a story at about its time; see ClusterRule for
    what a cluster must be. `ids` and `weights` are the story's vector, the tokens of the headline first; the rows of `terms` are
    those tokens' idf, rarity, and whether they are marked. `join` are the weights of the score. A row of `features` is the
    features of one of `best`, then the score: log-odds that the story belongs to the cluster. Returns how many it found.
    """
    most, words = len(best), terms.shape[1]
    idf, rarity, marked = terms[0], terms[1], terms[2]
    nearness = np.zeros(most)
    cosines = np.zeros(most)
    count = 0
    for index in range(len(groups)):
        group = groups[index]
        if facts[group, SEEN] > 0:
            continue
        facts[group, SEEN] = 1
        gap = max(0, time - facts[group, LAST], facts[group, FIRST] - time)
        if gap > look_back or time - facts[group, FIRST] > longest_life or facts[group, SIZE] >= largest:
            continue
        product = 0
        for token in range(len(ids)):
            entry = place(owners, group, ids[token])
            if owners[entry] != EMPTY:
                product += weights[token] * int(entries[entry, SUM])
        cosine = product / (UNIT * math.sqrt(facts[group, SQUARE]))
        near = cosine * math.exp(-gap / decay)
        if near < least_cosine:
            continue
        rank = count
        while rank > 0 and (
            nearness[rank - 1] < near
            or (nearness[rank - 1] == near and facts[best[rank - 1], OPENED] > facts[group, OPENED])
        ):
            rank -= 1
        if rank == most:
            continue
        count = min(count + 1, most)
        for after in range(count - 1, rank, -1):
            nearness[after], cosines[after], best[after] = nearness[after - 1], cosines[after - 1], best[after - 1]
        nearness[rank], cosines[rank], best[rank] = near, cosine, group
    for index in range(len(groups)):
        facts[groups[index], SEEN] = 0
    total = 0.0
    for token in range(words):
        total += idf[token]
    for rank in range(count):
        group = best[rank]
        size = facts[group, SIZE]
        often = max(1.0, 0.1 * size)
        specificity = capital = coverage = common = 0.0
        for token in range(words):
            entry = place(owners, group, ids[token])
            if owners[entry] == EMPTY or entries[entry, HELD] == 0:
                continue
            holding = int(entries[entry, HELD])
            specificity += math.log1p(0.5 / (size + 2.0) * holding * rarity[token])
            coverage += idf[token]
            if marked[token] > 0:
                capital += idf[token] * holding / size
            if holding >= often:
                common += 1.0
        features[rank, 0] = 1.0
        features[rank, 1] = math.log(cosines[rank] + 0.01)
        features[rank, 2] = math.log1p(max(0, time - facts[group, LAST], facts[group, FIRST] - time) / HOUR)
        features[rank, 3] = math.log(size)
        features[rank, 4] = math.log1p(max(0, time - facts[group, FIRST]) / HOUR)
        features[rank, 5] = specificity / words
        features[rank, 6] = capital
        features[rank, 7] = common
        features[rank, 8] = coverage / total
        features[rank, 9] = words
        features[rank, 10] = 0.0
        for feature in range(10):
            features[rank, 10] += join[feature] * features[rank, feature]
    return count


@kernel
def affinity(across: float, left: float, right: float) -> float:
    """Ln of the mean similarity across two groups over that within them."""
    within = math.sqrt(max(left, 0.01) * max(right, 0.01))
    return math.log((across + 0.005) / (within + 0.005))


@kernel
def inner_similarity(square: float, size: int) -> float:
    """The mean cosine of two different stories of a group, from the squared length of the sum of its vectors.

    0.2, a typical value, where there is only one story.
    """
    return (square / (UNIT * UNIT) - size) / (size * (size - 1)) if size > 1 else 0.2


@kernel
def log_hours(micros: int) -> float:
    """ln(1 + hours)."""
    return math.log1p(micros / HOUR)
