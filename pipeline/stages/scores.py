"""The two learned scores of clustering: does a story join a cluster, and are two clusters one?

Both are logistic: a weighted sum of features, in log-odds. The weights are data, `scores.json`, with their provenance.
"""

import json
import math
from functools import cache
from importlib import resources
from typing import NamedTuple


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
