"""The window and its kernels: all that a new story is compared with in one handle, each decision in one call of compiled code.

match        compares a story with the window, and changes nothing:

             tokens --weigh--> vector
             signature --band keys--> buckets --query--> candidates --rank--> similar --first_near_duplicate--> near-duplicate
                                                              |--score_joins--> clusters near it --score_merges--> those it joins

add_story    takes a story in:

             vector --> the centroid of its cluster, and the document frequencies
             band keys --> buckets
             tokens, cluster --> items

Nothing in the window is for one story only, so that a kernel can match and add many in a row.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.buckets import MIN_SLOTS, Buckets, Keys, Numbers, band_keys, forget, insert, new_buckets, query
from pipeline.similarity.centroids import (
    Centroids,
    Weights,
    add,
    bits,
    count_documents,
    drop_group,
    merge_groups,
    new_centroids,
    open_group,
    subtract,
)
from pipeline.similarity.compiled import handle, kernel
from pipeline.similarity.items import WIDTH, Ids, Items, groups_of, move, new_items, put, rank
from pipeline.similarity.tfidf import BACKGROUND_FREQUENCY, DOCUMENT_FREQUENCY, weigh
from pipeline.stages.cluster.facts import COLUMNS, FIRST, LAST, OPENED, SIZE, SQUARE, Facts
from pipeline.stages.cluster.join_score import score_joins
from pipeline.stages.cluster.merge_score import score_merges
from pipeline.stages.cluster.near_duplicates import first_near_duplicate
from pipeline.stages.cluster.ties import drop_ties, merge_ties, tie
from pipeline.stages.rules import MatchRule


@handle
@dataclass(slots=True)
class Window:
    """What a new story is compared with: the stories that the look-back reaches, and the living clusters."""

    buckets: Buckets
    items: Items
    came: NDArray[np.int64]
    """the stream time at which each story came, by the slot of its item"""
    centroids: Centroids
    ties: Centroids
    """how many stories tie two clusters (see `ties`)"""
    facts: Facts
    background: int
    """the documents of the background"""
    spread: int
    """of all stories over the clusters: the sum of the numbers of bits of the clusters' sizes"""
    rule: MatchRule
    join_weights: NDArray[np.float64]
    merge_weights: NDArray[np.float64]


class Match(NamedTuple):
    """What a story is like, and what it was compared with."""

    keys: Keys
    """its band keys"""
    weights: Weights
    """its TF-IDF vector, by token"""
    similar: Numbers
    """the most similar stories, best first ..."""
    scores: NDArray[np.float64]
    """... with their Jaccard similarities"""
    copied: int
    """which of these it is a near-duplicate of; -1: of none"""
    near: Numbers
    """the clusters that got a join score ..."""
    join_features: NDArray[np.float64]
    """... with its features, in the order of JoinWeights, and the score itself"""
    joins: Numbers
    """the clusters that it might belong to, best first, if it joins any ..."""
    taken: NDArray[np.bool_]
    """... and whether each is one with the best"""
    merge_features: NDArray[np.float64]
    """features of the comparison of each but the best with those taken before it, in the order of MergeWeights"""
    candidates: int
    """how many stories share a bucket with it"""


@kernel
def new_window(
    rule: MatchRule,
    join_weights: NDArray[np.float64],
    merge_weights: NDArray[np.float64],
    background: int,
    ids: Ids,
    holding: Weights,
) -> Window:
    """An empty window; of so many documents of the `background`, so many are `holding` each of the tokens `ids`."""
    centroids, ties = new_centroids(), new_centroids()
    for of in (centroids, ties):
        open_group(of)  # BACKGROUND_FREQUENCY
        open_group(of)  # DOCUMENT_FREQUENCY
    count_documents(centroids, BACKGROUND_FREQUENCY, ids, holding)
    return Window(
        new_buckets(rule.bands, rule.bucket_capacity, MIN_SLOTS),
        new_items(MIN_SLOTS),
        np.zeros(MIN_SLOTS, np.int64),
        centroids,
        ties,
        np.zeros((MIN_SLOTS, COLUMNS), np.int64),
        background,
        0,
        rule,
        join_weights,
        merge_weights,
    )


@kernel
def match(
    window: Window,
    signature: NDArray[np.uint32],
    ids: Ids,
    counts: NDArray[np.int64],
    headline_length: int,
    stories: int,
    time: int,
    simhash: int,
) -> Match:
    """Compare a story of `time` with the window, where `stories` are kept; what is returned is its own.

    `ids`, `counts` and `headline_length` are those of `weigh`; the SimHash is signed.
    """
    rule, buckets = window.rule, window.buckets
    terms, weights = _weighed(window, ids, counts, headline_length, stories)
    keys = band_keys(signature, rule.bands, rule.rows)
    similar, scores = np.empty(rule.similar_kept, np.int64), np.empty(rule.similar_kept)
    near, joins = np.empty(rule.considered, np.int64), np.empty(rule.considered, np.int64)
    join_features = np.empty((rule.considered, len(window.join_weights) + 1))
    merge_features = np.empty((rule.considered, len(window.merge_weights)))
    taken = np.empty(rule.considered, np.bool_)
    ranked, copied, scored, joining, count = 0, -1, 0, 0, 0
    if headline_length > 0:
        found, shared = np.empty((2, rule.bands * rule.bucket_capacity), np.int64)
        count = query(buckets, keys, found, shared)
        tokens = ids[: min(headline_length, WIDTH)]
        ranked = rank(
            window.items, found[:count], shared[:count], tokens, rule.similar_bands, rule.similar_at, scores, similar
        )
        copied = first_near_duplicate(window.items, similar[:ranked], scores, tokens, simhash, rule)
        vector = ids, weights, terms
        groups = groups_of(window.items, found[:count])
        scored = score_joins(
            window.centroids,
            window.facts,
            groups,
            vector,
            time,
            stories,
            rule,
            window.join_weights,
            near,
            join_features,
        )
        joining = score_merges(
            window.centroids,
            window.ties,
            window.facts,
            near[:scored],
            join_features[:scored, -1],
            rule,
            window.merge_weights,
            joins,
            taken,
            merge_features,
        )
    return Match(
        keys,
        weights,
        similar[:ranked],
        scores[:ranked],
        copied,
        near[:scored],
        join_features[:scored],
        joins[:joining],
        taken[:joining],
        merge_features[:joining],
        count,
    )


@kernel
def weigh_only(window: Window, ids: Ids, counts: NDArray[np.int64], headline_length: int, stories: int) -> Weights:
    """The TF-IDF vector alone, for profiles that match by other means."""
    return _weighed(window, ids, counts, headline_length, stories)[1]


@kernel
def _weighed(
    window: Window, ids: Ids, counts: NDArray[np.int64], headline_length: int, stories: int
) -> tuple[NDArray[np.float64], Weights]:
    rule, terms, weights = window.rule, np.empty((3, headline_length)), np.empty(len(ids), np.int64)
    weigh(
        window.centroids,
        ids,
        counts,
        headline_length,
        window.background,
        stories,
        window.spread,
        rule.spread_prior,
        rule.common_share,
        rule.lead_weight,
        terms,
        weights,
    )
    return terms, weights


@kernel
def open_cluster(window: Window, time: int, position: int) -> int:
    """The group of a new cluster, which a story of `time` at a position opens."""
    group = open_group(window.centroids)
    open_group(window.ties)  # the same number
    if group >= len(window.facts):
        facts = np.zeros((2 * len(window.facts), COLUMNS), np.int64)
        facts[: len(window.facts)] = window.facts
        window.facts = facts
    facts = window.facts
    facts[group] = 0
    facts[group, FIRST], facts[group, LAST], facts[group, OPENED] = time, time, position
    return group


@kernel
def add_story(
    window: Window,
    keys: Keys,
    ids: Ids,
    weights: Weights,
    headline_length: int,
    simhash: int,
    group: int,
    time: int,
    stream_time: int,
) -> int:
    """Take a story of `time` into a group, at this stream time; the SimHash is signed. Returns its number."""
    buckets, items = window.buckets, window.items
    number = insert(buckets, keys)
    put(items, buckets.oldest, number, ids[:headline_length], simhash, group)
    slots = len(items.rows)
    if len(window.came) < slots:
        old = window.came
        window.came = np.zeros(slots, np.int64)
        for kept in range(buckets.oldest, number):
            window.came[kept & (slots - 1)] = old[kept & (len(old) - 1)]
    window.came[number & (slots - 1)] = stream_time
    _add_to_group(window, ids, weights, headline_length, group, time)
    return number


@kernel
def _add_to_group(window: Window, ids: Ids, weights: Weights, headline_length: int, group: int, time: int) -> None:
    facts = window.facts
    facts[group, FIRST] = min(facts[group, FIRST], time)
    facts[group, LAST] = max(facts[group, LAST], time)
    size = int(facts[group, SIZE])
    window.spread += bits(size + 1) - bits(size)
    facts[group, SIZE] = size + 1
    facts[group, SQUARE] += add(window.centroids, group, ids, weights, headline_length, DOCUMENT_FREQUENCY)


@kernel
def move_story(
    window: Window,
    number: int,
    ids: Ids,
    weights: Weights,
    headline_length: int,
    source: int,
    target: int,
    time: int,
) -> None:
    """Put a story of `time`, which has this number, from one group into another. The times of the source stay as they were."""
    facts = window.facts
    size = int(facts[source, SIZE])
    window.spread -= bits(size) - bits(size - 1)
    facts[source, SIZE] = size - 1
    facts[source, SQUARE] -= subtract(window.centroids, source, ids, weights, headline_length, DOCUMENT_FREQUENCY)
    _add_to_group(window, ids, weights, headline_length, target, time)
    move(window.items, np.array([number]), window.buckets.oldest, target)


@kernel
def date_cluster(window: Window, group: int, first: int, last: int, opened: int) -> None:
    """Set the times of a group's first and last story, and the position of the story that opened it."""
    facts = window.facts
    facts[group, FIRST], facts[group, LAST], facts[group, OPENED] = first, last, opened


@kernel
def absorb_cluster(window: Window, survivor: int, absorbed: int, numbers: Numbers) -> None:
    """Add what one group holds to another; `numbers` are the stories of the absorbed one."""
    facts = window.facts
    facts[survivor, FIRST] = min(facts[survivor, FIRST], facts[absorbed, FIRST])
    facts[survivor, OPENED] = min(facts[survivor, OPENED], facts[absorbed, OPENED])
    facts[survivor, LAST] = max(facts[survivor, LAST], facts[absorbed, LAST])
    more, size = int(facts[absorbed, SIZE]), int(facts[survivor, SIZE])
    window.spread -= bits(size) + bits(more) - bits(size + more)
    facts[survivor, SIZE] = size + more
    facts[survivor, SQUARE] += merge_groups(window.centroids, survivor, absorbed, DOCUMENT_FREQUENCY)
    merge_ties(window.ties, survivor, absorbed)
    move(window.items, numbers, window.buckets.oldest, survivor)


@kernel
def tie_clusters(window: Window, left: int, right: int) -> None:
    """Count a story that might belong to either of two groups."""
    tie(window.ties, left, right, 1)


@kernel
def drop_cluster(window: Window, group: int) -> None:
    """Forget a group, and the words of its stories."""
    window.spread -= bits(int(window.facts[group, SIZE]))
    drop_group(window.centroids, group, DOCUMENT_FREQUENCY)
    drop_ties(window.ties, group)


@kernel
def forget_stories(window: Window, horizon: int) -> int:
    """Match no more with the stories that came before the horizon; returns the number of the oldest that counts."""
    buckets, came = window.buckets, window.came
    oldest = buckets.oldest
    while oldest < buckets.next and came[oldest & (len(came) - 1)] < horizon:
        oldest += 1
    forget(buckets, oldest)
    return oldest
