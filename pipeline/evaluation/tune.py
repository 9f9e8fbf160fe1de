"""Tune: which bands and rows suit one's own news.

The stories are clustered as usual. What a choice of bands and rows has to find is known then: for a story of a cluster that
has earlier ones, at least one of these. From the exact Jaccard similarities that the sample really has, the S-curve gives

    recall              the share of such stories that are led to their cluster:  mean of 1 - product of (1 - P(J))
    false candidates    the earlier stories of other clusters that turn up:       mean of the sum of P(J)

and the time of look-ups is measured on the sample.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from pipeline.codec import InvalidRecord
from pipeline.evaluation.evaluate import final_clusters
from pipeline.records import Fingerprint
from pipeline.replay import replay
from pipeline.similarity import minhash
from pipeline.similarity.buckets import BucketTables, band_keys
from pipeline.similarity.curve import candidate_probability
from pipeline.similarity.universal import ROWS
from pipeline.stages.rules import ClusterRule, DetectRule
from pipeline.stages.weights import Weights

CHOICES = ((ROWS, 1), (ROWS // 2, 1), *((ROWS // rows, rows) for rows in (2, 3, 4, 5, 6, 8)))
"""Bands and rows: those that use the whole signature, and the default."""
MAX_SAMPLE = 20_000
"""Stories of the sample that are looked at."""


class Similarities(NamedTuple):
    """Exact Jaccard similarities of the pairs of a sample that share a token, an earlier story and a later one."""

    same: NDArray[np.float64]
    """of pairs in one cluster"""
    story: NDArray[np.int64]
    """the later story of each of those, as a number"""
    other: NDArray[np.float64]
    """of pairs in different clusters"""
    stories: int
    followers: int
    """stories whose cluster had earlier ones"""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What one choice of bands and rows does."""

    bands: int
    rows: int
    recall: float
    false_candidates: float
    microseconds: float
    """for a query and an insert"""


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """All choices, and the one to take."""

    stories: int
    wanted_recall: float
    choices: list[Row]
    recommended: Row
    reached: bool
    """whether the recommended choice has the wanted recall"""


def tune(
    fingerprints: Sequence[tuple[int, Fingerprint]],
    wanted_recall: float,
    cluster_rule: ClusterRule,
    detect_rule: DetectRule,
    weights: Weights,
) -> tuple[Tuning, Similarities]:
    """Compare the choices. Raises InvalidRecord if no story of the sample has company."""
    sample = fingerprints[:MAX_SAMPLE]
    steps = list(replay(sample, cluster_rule, detect_rule, weights))
    clusters = final_clusters(steps)
    stories = [step.assignment.story for step in steps if not step.assignment.revision]
    tokens = [list(dict.fromkeys(story.tokens)) for story in stories]
    found = similarities(tokens, [clusters[story.id] for story in stories])
    if not found.followers:
        raise InvalidRecord(
            f"None of the {len(stories)} stories is in a cluster with an earlier one: take a larger sample, in order of time."
        )
    first = {record.story.id: record.signature for _, record in reversed(sample)}  # stories may come again
    signatures = [minhash.from_bytes(first[story.id]) for story in stories]
    choices = [_row(found, bands, rows, signatures, cluster_rule.bucket_capacity) for bands, rows in CHOICES]
    enough = [row for row in choices if row.recall >= wanted_recall]
    recommended = (
        min(enough, key=lambda row: (row.false_candidates, -row.recall))
        if enough
        else max(choices, key=lambda row: row.recall)
    )
    tuning = Tuning(
        stories=len(stories),
        wanted_recall=wanted_recall,
        choices=choices,
        recommended=recommended,
        reached=bool(enough),
    )
    return tuning, found


def similarities(tokens: Sequence[Sequence[str]], clusters: Sequence[str]) -> Similarities:
    """The exact similarities of all pairs that share a token, by an inverted index; texts have distinct tokens."""
    postings: dict[str, list[int]] = {}
    sizes = np.array([len(text) for text in tokens], np.int64)
    cluster = np.unique(np.array(clusters), return_inverse=True)[1]
    same: list[NDArray[np.float64]] = []
    story: list[NDArray[np.int64]] = []
    other: list[NDArray[np.float64]] = []
    before: set[int] = set()
    followers = 0
    for number, text in enumerate(tokens):
        followers += int(cluster[number]) in before
        before.add(int(cluster[number]))
        hits = [hit for token in text for hit in postings.get(token, ())]
        for token in text:
            postings.setdefault(token, []).append(number)
        if not hits:
            continue
        earlier, shared = np.unique(np.array(hits), return_counts=True)
        jaccard = shared / (sizes[earlier] + len(text) - shared)
        own = cluster[earlier] == cluster[number]
        same.append(jaccard[own])
        story.append(np.full(int(own.sum()), number))
        other.append(jaccard[~own])
    empty = np.empty(0)
    return Similarities(
        np.concatenate([empty, *same]),
        np.concatenate([empty.astype(np.int64), *story]),
        np.concatenate([empty, *other]),
        len(tokens),
        followers,
    )


def _row(found: Similarities, bands: int, rows: int, signatures: Sequence[NDArray[np.uint32]], capacity: int) -> Row:
    missing = np.log1p(-np.minimum(candidate_probability(found.same, bands, rows), 1 - 1e-12))
    all_missing = np.exp(np.bincount(found.story, weights=missing, minlength=found.stories))
    return Row(
        bands=bands,
        rows=rows,
        recall=round(float((1 - all_missing[np.unique(found.story)]).sum() / found.followers), 4),
        false_candidates=round(float(candidate_probability(found.other, bands, rows).sum() / found.stories), 1),
        microseconds=round(_cost(bands, rows, signatures, capacity), 1),
    )


def _cost(bands: int, rows: int, signatures: Sequence[NDArray[np.uint32]], capacity: int) -> float:
    """Microseconds for a query and an insert, over the whole sample."""
    tables = BucketTables(bands, capacity)
    first = band_keys(signatures[0], bands, rows)
    tables.query(first)
    tables.insert(first)  # compiled by now
    begin = time.perf_counter()
    for signature in signatures:
        keys = band_keys(signature, bands, rows)
        tables.query(keys)
        tables.insert(keys)
    return 1e6 * (time.perf_counter() - begin) / len(signatures)
