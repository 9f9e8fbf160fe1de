"""Confidence intervals of F1 scores, by the bootstrap over events (Efron 1979): how much the scores would differ on other news.

Stories of one event tend to be right or wrong together, so events are sampled, not stories. Each sample has as many events as
there are, drawn with replacement, and gives a value of every score.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SAMPLES = 1_000
PERCENTILES = 2.5, 97.5
SEED = 1

Interval = tuple[float, float]


class Unit(NamedTuple):
    """What one label, or one false alert without a label, adds to the figures."""

    stories: float = 0
    precision: float = 0
    """the sum of its stories' B-cubed precisions ..."""
    recall: float = 0
    """... and recalls ..."""
    group_recall: float = 0
    """... and recalls within their groups"""
    breaking: float = 0
    found: float = 0
    """whether it is a breaking event with an alert"""
    alerts: float = 0
    """its alerts, true or not"""
    told_anew: float = 0
    """its alerts that repeat no alert of their group"""


def intervals(units: Sequence[Unit], *, two_level: bool) -> dict[str, Interval | None]:
    """Between what the F1 scores lie in 95 of 100 samples; None for those that no sample has."""
    draws = np.random.default_rng(SEED).multinomial(len(units), np.full(len(units), 1 / len(units)), SAMPLES)
    sums = dict(zip(Unit._fields, (draws @ np.array(units)).T, strict=True))
    figures = {
        "bcubed_f1": _f1(_ratio(sums["precision"], sums["stories"]), _ratio(sums["recall"], sums["stories"])),
        "events_f1": _f1(_ratio(sums["found"], sums["alerts"]), _ratio(sums["found"], sums["breaking"])),
    }
    if two_level:
        figures["two_level_bcubed_f1"] = _f1(
            _ratio(sums["precision"], sums["stories"]), _ratio(sums["group_recall"], sums["stories"])
        )
        figures["two_level_events_f1"] = _f1(
            _ratio(sums["told_anew"], sums["alerts"]), _ratio(sums["found"], sums["breaking"])
        )
    return {name: _interval(values) for name, values in figures.items()}


def _ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    ratio: NDArray[np.float64] = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return ratio


def _f1(precision: NDArray[np.float64], recall: NDArray[np.float64]) -> NDArray[np.float64]:
    """The harmonic mean: 0 where there are events and no alert; nothing where there are no events."""
    precision = np.where(np.isnan(precision), 0.0, precision)
    total = precision + recall
    none = np.where(np.isnan(recall), np.nan, 0.0)
    f1: NDArray[np.float64] = np.divide(2 * precision * recall, total, out=none, where=total > 0)
    return f1


def _interval(values: NDArray[np.float64]) -> Interval | None:
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    low, high = np.percentile(known, PERCENTILES).round(4).tolist()
    return low, high
