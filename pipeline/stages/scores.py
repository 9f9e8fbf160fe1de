"""The two learned scores of clustering: does a story join a cluster, and are two clusters one?

Both are logistic: a weighted sum of features, in log-odds. The weights are data, `scores.json`, with their provenance.
"""

import json
import math
from functools import cache
from importlib import resources
from typing import NamedTuple

from pipeline.records import NormalisedStory
from pipeline.similarity.tfidf import UNIT, dot
from pipeline.stages.clustering import Cluster, Edition
from pipeline.times import HOUR


class JoinWeights(NamedTuple):
    """Weights of the features of (story, cluster)."""

    bias: float
    cosine: float
    """of ln(cosine of story and centroid + 0.01)"""
    gap: float
    """of ln(1 + hours since the cluster's last story)"""
    size: float
    """of ln(stories in the cluster)"""
    age: float
    """of ln(1 + hours since the cluster's first story)"""
    specificity: float
    """of the mean over the story's tokens of ln(1 + how much more often the cluster holds the token than all do)"""
    marked: float
    """of the idf of shared tokens with a capital or digit, each by the share of the cluster's stories that hold it"""
    common: float
    """of the number of shared tokens that at least a tenth of the cluster's stories hold"""
    coverage: float
    """of the share of the story's idf that the cluster's tokens cover"""
    length: float
    """of the number of the story's distinct tokens"""


class MergeWeights(NamedTuple):
    """Weights of the features of (larger cluster, smaller cluster), seen when a story belongs to both."""

    bias: float
    cosine: float
    """of ln(cosine of the centroids + 0.01)"""
    smaller_size: float
    """of ln(stories in the smaller)"""
    larger_coherence: float
    """of the length of the larger's mean vector (1: all its stories are alike)"""
    smaller_coherence: float
    best_join: float
    """of the story's probability to join the better of the two"""
    other_join: float
    start_gap: float
    """of ln(1 + hours between their first stories)"""
    span: float
    """of ln(1 + hours from the first story of both to the last)"""
    last_gap: float
    """of ln(1 + hours between their last stories)"""
    affinity: float
    """of ln of the mean similarity across the two over that within them"""


@cache
def shipped() -> tuple[JoinWeights, MergeWeights]:
    """The weights that ship with Newsburst."""
    data = json.loads((resources.files(__package__) / "scores.json").read_text(encoding="utf-8"))
    return JoinWeights(**data["join"]), MergeWeights(**data["merge"])


def probability(log_odds: float) -> float:
    """The probability that these log-odds mean."""
    return 1.0 / (1.0 + math.exp(-log_odds))


def log_odds(probability: float) -> float:
    """The log-odds of a probability between 0 and 1, both excluded."""
    return math.log(probability / (1.0 - probability))


def join_score(
    weight: JoinWeights,
    edition: Edition,
    near: Cluster,
    cosine: float,
    story: NormalisedStory,
    idf: dict[str, float],
    time: int,
) -> float:
    """Log-odds that the story belongs to the cluster."""
    size = near.size
    documents = edition.background.headlines + len(edition.rows) + 1
    marked_tokens = set(story.marked)
    often = max(1.0, 0.1 * size)
    specificity = marked = coverage = 0.0
    common = 0
    for token, worth in idf.items():
        holding = near.holding.get(token)
        if not holding:
            continue
        everywhere = edition.background.holding.get(token, 0) + edition.holding[token] + 1
        specificity += math.log1p(0.5 / (size + 2.0) * documents * holding / everywhere)
        coverage += worth
        if token in marked_tokens:
            marked += worth * holding / size
        if holding >= often:
            common += 1
    return (
        weight.bias
        + weight.cosine * math.log(cosine + 0.01)
        + weight.gap * _log_hours(max(0, time - near.last))
        + weight.size * math.log(size)
        + weight.age * _log_hours(max(0, time - near.first[0]))
        + weight.specificity * specificity / len(idf)
        + weight.marked * marked
        + weight.common * common
        + weight.coverage * coverage / sum(idf.values())
        + weight.length * len(idf)
    )


def merge_score(weight: MergeWeights, larger: Cluster, smaller: Cluster, best_join: float, other_join: float) -> float:
    """Log-odds that the two clusters are about one event."""
    across = dot(larger.sums, smaller.sums)
    cosine = across / math.sqrt(larger.square * smaller.square)
    mean_across = across / (UNIT * UNIT * larger.size * smaller.size)
    within = math.sqrt(max(_inner_similarity(larger), 0.01) * max(_inner_similarity(smaller), 0.01))
    first, last = min(larger.first[0], smaller.first[0]), max(larger.last, smaller.last)
    return (
        weight.bias
        + weight.cosine * math.log(cosine + 0.01)
        + weight.smaller_size * math.log(smaller.size)
        + weight.larger_coherence * math.sqrt(larger.square) / (UNIT * larger.size)
        + weight.smaller_coherence * math.sqrt(smaller.square) / (UNIT * smaller.size)
        + weight.best_join * best_join
        + weight.other_join * other_join
        + weight.start_gap * _log_hours(abs(larger.first[0] - smaller.first[0]))
        + weight.span * _log_hours(last - first)
        + weight.last_gap * _log_hours(abs(larger.last - smaller.last))
        + weight.affinity * math.log((mean_across + 0.005) / (within + 0.005))
    )


def _inner_similarity(of: Cluster) -> float:
    """The mean cosine of two different stories of a cluster; 0.2, a typical value, where there is only one."""
    size = of.size
    return (of.square / (UNIT * UNIT) - size) / (size * (size - 1)) if size > 1 else 0.2


def _log_hours(micros: int) -> float:
    return math.log1p(micros / HOUR)
