"""Match and keep: all that a new story is compared with, and all that is kept of it, each in one call of compiled code.

Match:

    tokens --weigh--> vector
    signature --band keys--> buckets --query--> candidates --rank--> similar stories
                                                     |-----consider--> clusters with join scores
Keep:

    vector --> the centroid of its cluster, and the word counts
    band keys --> buckets
    tokens, cluster --> items
"""

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.buckets import Keys, Numbers, band_keys, insert, query
from pipeline.similarity.centroids import Entries, Weights, add, count_held
from pipeline.similarity.compiled import kernel
from pipeline.similarity.items import WIDTH, Ids, put, rank
from pipeline.similarity.tfidf import EVERYWHERE, weigh
from pipeline.stages.scores import Facts, consider


@kernel
def match(
    signature: NDArray[np.uint32],
    rows: int,
    head: NDArray[np.int32],
    node: NDArray[np.uint32],
    oldest: int,
    after: int,
    capacity: int,
    tokens: NDArray[np.uint32],
    sizes: NDArray[np.int64],
    groups: NDArray[np.int64],
    ids: Ids,
    counts: NDArray[np.int64],
    held: int,
    documents: int,
    lead_weight: float,
    entries: Entries,
    facts: Facts,
    time: int,
    longest_life: int,
    largest: int,
    decay: int,
    least_cosine: float,
    join: NDArray[np.float64],
    least_shared: int,
    least_similar: float,
    keys: Keys,
    weights: NDArray[np.int64],
    scores: NDArray[np.float64],
    similar: Numbers,
    near: NDArray[np.int64],
    features: NDArray[np.float64],
) -> tuple[int, int]:
    """The story's vector, its most similar stories and the clusters nearest to it; returns how many of both.

    Fills `keys`, `weights`, `similar` with `scores`, and `near` with `features`. The parameters are those of `band_keys`,
    `query`, `rank`, `weigh` and `consider`.
    """
    bands = len(head)
    terms = np.empty((3, held))
    weigh(entries, ids, counts, held, documents, lead_weight, terms, weights)
    keys[:] = band_keys(signature, bands, rows)
    if held == 0:
        return 0, 0
    found, shared = np.empty(bands * capacity, np.int64), np.empty(bands * capacity, np.int64)
    count = query(head, node, keys, oldest, after, capacity, found, shared)
    ranked = rank(
        tokens,
        sizes,
        found[:count],
        shared[:count],
        ids[: min(held, WIDTH)],
        least_shared,
        least_similar,
        scores,
        similar,
    )
    theirs = np.empty(count, np.int64)
    for index in range(count):
        theirs[index] = groups[found[index] & (len(groups) - 1)]
    considered = consider(
        theirs,
        facts,
        entries,
        ids,
        weights,
        terms,
        time,
        longest_life,
        largest,
        decay,
        least_cosine,
        join,
        near,
        features,
    )
    return ranked, considered


@kernel
def keep(
    number: int,
    head: NDArray[np.int32],
    node: NDArray[np.uint32],
    keys: Keys,
    tokens: NDArray[np.uint32],
    sizes: NDArray[np.int64],
    groups: NDArray[np.int64],
    entries: Entries,
    heads: NDArray[np.int64],
    ids: Ids,
    weights: Weights,
    held: int,
    group: int,
) -> tuple[int, int]:
    """Take a story of a group in; returns how many entries are new, and by how much the square of the group's sum grew."""
    insert(head, node, keys, number)
    put(tokens, sizes, groups, number, ids[:held], group)
    new, grown = add(entries, heads, group, ids, weights, held)
    new += count_held(entries, heads, EVERYWHERE, ids[:held], np.ones(held, np.int64))
    return new, grown
