"""The learned scores of clustering: does a story join a cluster, and are two clusters one?"""

import math
from collections.abc import Collection, Mapping
from operator import mul
from typing import NamedTuple

from pipeline.similarity.tfidf import UNIT, dot, inverse_document_frequency
from pipeline.stages.clustering import Cluster, Edition
from pipeline.stages.weights import JoinWeights, MergeWeights
from pipeline.times import HOUR


class Token(NamedTuple):
    """A token of a new story, as the edition knows it."""

    text: str
    idf: float
    """how much it tells"""
    rarity: float
    """documents known over documents that hold it, the story counted"""
    marked: bool
    """written with a capital or a digit first"""


def weigh(edition: Edition, counts: Mapping[str, int], marked: Collection[str]) -> list[Token]:
    """The distinct tokens of a new story with what the edition knows of each; the story itself is counted."""
    documents = edition.background.headlines + len(edition.rows) + 1
    before, now = edition.background.holding, edition.holding
    tokens: list[Token] = []
    for text in counts:
        holding = before.get(text, 0) + now[text] + 1
        idf = inverse_document_frequency(documents, holding)
        tokens.append(Token(text, idf, documents / holding, text in marked))
    return tokens


def join_features(tokens: list[Token], near: Cluster, cosine: float, time: int) -> JoinWeights:
    """The features of a story and a cluster, in the order of their weights."""
    size, holding = near.size, near.holding
    often = max(1.0, 0.1 * size)
    lift = 0.5 / (size + 2.0)
    specificity = marked = coverage = total = 0.0
    common = 0
    for text, idf, rarity, is_marked in tokens:
        total += idf
        held = holding.get(text)
        if not held:
            continue
        specificity += math.log1p(lift * held * rarity)
        coverage += idf
        if is_marked:
            marked += idf * held / size
        if held >= often:
            common += 1
    return JoinWeights(
        1.0,
        math.log(cosine + 0.01),
        log_hours(max(0, time - near.last)),
        math.log(size),
        log_hours(max(0, time - near.first[0])),
        specificity / len(tokens),
        marked,
        common,
        coverage / total,
        len(tokens),
    )


def join_score(weight: JoinWeights, tokens: list[Token], near: Cluster, cosine: float, time: int) -> float:
    """Log-odds that the story belongs to the cluster."""
    return sum(map(mul, weight, join_features(tokens, near, cosine, time)))


def merge_features(larger: Cluster, smaller: Cluster, best_join: float, other_join: float) -> MergeWeights:
    """The features of two clusters, in the order of their weights."""
    across = dot(larger.sums, smaller.sums)
    cosine = across / math.sqrt(larger.square * smaller.square)
    first, last = min(larger.first[0], smaller.first[0]), max(larger.last, smaller.last)
    return MergeWeights(
        1.0,
        math.log(cosine + 0.01),
        math.log(smaller.size),
        math.sqrt(larger.square) / (UNIT * larger.size),
        math.sqrt(smaller.square) / (UNIT * smaller.size),
        best_join,
        other_join,
        log_hours(abs(larger.first[0] - smaller.first[0])),
        log_hours(last - first),
        log_hours(abs(larger.last - smaller.last)),
        affinity(
            across / (UNIT * UNIT * larger.size * smaller.size),
            inner_similarity(larger.square, larger.size),
            inner_similarity(smaller.square, smaller.size),
        ),
    )


def merge_score(weight: MergeWeights, larger: Cluster, smaller: Cluster, best_join: float, other_join: float) -> float:
    """Log-odds that the two clusters are about one event."""
    return sum(map(mul, weight, merge_features(larger, smaller, best_join, other_join)))


def affinity(across: float, left: float, right: float) -> float:
    """ln of the mean similarity across two groups over that within them."""
    within = math.sqrt(max(left, 0.01) * max(right, 0.01))
    return math.log((across + 0.005) / (within + 0.005))


def inner_similarity(square: float, size: int) -> float:
    """The mean cosine of two different stories of a group, from the squared length of the sum of its vectors.

    0.2, a typical value, where there is only one story.
    """
    return (square / (UNIT * UNIT) - size) / (size * (size - 1)) if size > 1 else 0.2


def log_hours(micros: int) -> float:
    """ln(1 + hours)."""
    return math.log1p(micros / HOUR)
