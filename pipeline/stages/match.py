"""Match and keep: all that a new story is compared with, and all that is kept of it, each in one call of compiled code.

Match:

    tokens --weigh--> vector
    signature --band keys--> buckets --query--> candidates --rank--> similar stories
                                                     |-----consider--> clusters with join scores --merge--> those it joins
Keep:

    vector --> the centroid of its cluster, and the word counts
    band keys --> buckets
    tokens, cluster --> items
"""

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.buckets import Keys, Numbers, band_keys, insert, query
from pipeline.similarity.centroids import Entries, Heads, Owners, Weights, add, count_held
from pipeline.similarity.compiled import kernel
from pipeline.similarity.items import GROUP, WIDTH, Ids, Rows, put, rank
from pipeline.similarity.tfidf import EVERYWHERE, weigh
from pipeline.stages.copies import first_copy
from pipeline.stages.merge import merge
from pipeline.stages.scores import FIRST, LAST, SIZE, SQUARE, Facts, consider


@kernel
def match(
    signature: NDArray[np.uint32],
    rows: int,
    head: NDArray[np.int32],
    node: NDArray[np.uint32],
    seen: NDArray[np.uint8],
    oldest: int,
    after: int,
    capacity: int,
    items: Rows,
    ids: Ids,
    counts: NDArray[np.int64],
    held: int,
    documents: int,
    lead_weight: float,
    owners: Owners,
    entries: Entries,
    heads: Heads,
    facts: Facts,
    time: int,
    look_back: int,
    longest_life: int,
    largest: int,
    decay: int,
    least_cosine: float,
    join: NDArray[np.float64],
    join_from: float,
    ask_from: float,
    merge_from: float,
    merging: NDArray[np.float64],
    least_shared: int,
    least_similar: float,
    upper: int,
    lower: int,
    copy_least: float,
    copy_at: float,
    copy_bits_at: float,
    copy_bits: int,
    copy_beginning: int,
    keys: Keys,
    weights: NDArray[np.int64],
    scores: NDArray[np.float64],
    similar: Numbers,
    near: NDArray[np.int64],
    features: NDArray[np.float64],
    asked: NDArray[np.int64],
    taken: NDArray[np.bool_],
    compared: NDArray[np.float64],
) -> tuple[int, int, int, int]:
    """The story's vector, its most similar stories, the clusters nearest to it and those it joins.

    Fills `keys`, `weights`, `similar` with `scores`, `near` with `features`, and `asked`, `taken` and `compared`. The parameters
    are those of `weigh`, `band_keys`, `query`, `rank`, `first_copy`, `consider` and `merge`. Returns how many are similar, which
    of these it is a copy of (or -1), how many clusters are near, and how many were asked.
    """
    bands = len(head)
    terms = np.empty((3, held))
    weigh(owners, entries, ids, counts, held, documents, lead_weight, terms, weights)
    keys[:] = band_keys(signature, bands, rows)
    if held == 0:
        return 0, -1, 0, 0
    found, shared = np.empty(bands * capacity, np.int64), np.empty(bands * capacity, np.int64)
    count = query(head, node, seen, keys, oldest, after, capacity, found, shared)
    ranked = rank(
        items,
        found[:count],
        shared[:count],
        ids[: min(held, WIDTH)],
        least_shared,
        least_similar,
        scores,
        similar,
    )
    copied = first_copy(
        items,
        similar[:ranked],
        scores,
        ids[: min(held, WIDTH)],
        upper,
        lower,
        copy_least,
        copy_at,
        copy_bits_at,
        copy_bits,
        copy_beginning,
    )
    theirs = np.empty(count, np.int64)
    for index in range(count):
        theirs[index] = items[found[index] & (len(items) - 1), GROUP]
    considered = consider(
        theirs,
        facts,
        owners,
        entries,
        ids,
        weights,
        terms,
        time,
        look_back,
        longest_life,
        largest,
        decay,
        least_cosine,
        join,
        near,
        features,
    )
    joining = merge(
        owners,
        entries,
        heads,
        facts,
        near[:considered],
        features[:considered, -1],
        join_from,
        ask_from,
        merge_from,
        largest,
        merging,
        asked,
        taken,
        compared,
    )
    return ranked, copied, considered, joining


@kernel
def keep(
    number: int,
    head: NDArray[np.int32],
    node: NDArray[np.uint32],
    keys: Keys,
    items: Rows,
    owners: Owners,
    entries: Entries,
    heads: Heads,
    ids: Ids,
    weights: Weights,
    held: int,
    upper: int,
    lower: int,
    group: int,
    facts: Facts,
    time: int,
) -> int:
    """Take a story of a group in, at its time; returns how many entries are new."""
    insert(head, node, keys, number)
    put(items, number, ids[:held], upper, lower, group)
    new, grown = add(owners, entries, heads, group, ids, weights, held)
    facts[group, FIRST] = min(facts[group, FIRST], time)
    facts[group, LAST] = max(facts[group, LAST], time)
    facts[group, SIZE] += 1
    facts[group, SQUARE] += grown
    return new + count_held(owners, entries, heads, EVERYWHERE, ids[:held], np.ones(held, np.int64))
