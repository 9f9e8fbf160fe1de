"""The weights of the learned scores: data, `weights.json`, with their provenance; `newsburst fit` makes new ones.

There are three scores: does a story join a cluster, are two clusters one, is a second burst of a cluster another event?
All are logistic: the log-odds are the sum of weight times feature.
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
    single: float = 0.0
    """of whether just one of several tokens of the story is shared"""


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
    ties: float = 0.0
    """of ln(1 + earlier stories that might belong to both)"""


class RenewWeights(NamedTuple):
    """Weights of the features of (window of an earlier event, new window of the same cluster): is it another event?"""

    bias: float
    cosine: float
    """of ln(cosine of the two mean vectors + 0.01)"""
    affinity: float
    """of ln of the mean similarity across the two windows over that within them"""
    earlier_coherence: float
    """of ln of the mean similarity of two stories of the earlier window"""
    coherence: float
    """of the same of the new window"""
    gap: float
    """of ln(1 + hours from the earlier window's end to now)"""
    size: float
    """of ln(stories in the new window)"""
    newest_token: float
    """of by how much the mean weight of a token grew most ..."""
    second_newest_token: float
    """... and second most ..."""
    lost_token: float
    """... and fell most ..."""
    second_lost_token: float
    kept_token: float
    """of the largest mean weight that a token has in both windows"""


class Weights(NamedTuple):
    """The weights of all scores."""

    join: JoinWeights
    caseless: JoinWeights
    """of joins, in languages whose capitals do not mark names"""
    merge: MergeWeights
    renew: RenewWeights


class InvalidWeights(ValueError):
    """A file of weights that is not one; the message says what is wrong."""


@cache
def shipped() -> Weights:
    """The weights that ship with Newsburst."""
    return parse((resources.files(__package__) / "weights.json").read_text(encoding="utf-8"))


def parse(text: str) -> Weights:
    """The weights that a JSON text holds, as `newsburst fit` writes it. Raises InvalidWeights."""
    try:
        data = json.loads(text)
        data.setdefault("caseless", data["join"])  # files of earlier versions
        kinds = JoinWeights, JoinWeights, MergeWeights, RenewWeights
        return Weights(
            *(
                kind(**{name: float(value) for name, value in data[part].items()})
                for part, kind in zip(Weights._fields, kinds, strict=True)
            )
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidWeights(f"Not a file of weights as `newsburst fit` writes it: {error}.") from None


def probability(log_odds: float) -> float:
    """The probability that these log-odds mean."""
    return 1.0 / (1.0 + math.exp(-log_odds))


def log_odds(probability: float) -> float:
    """The log-odds of a probability above 0; those of certainty are infinite."""
    return math.inf if probability >= 1.0 else math.log(probability / (1.0 - probability))
