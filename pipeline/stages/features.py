"""Features that several learned scores are made of."""

import math

from pipeline.similarity.compiled import kernel
from pipeline.similarity.tfidf import UNIT
from pipeline.times import HOUR


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
