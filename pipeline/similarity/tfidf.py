"""TF-IDF vectors in whole numbers.

A weight is a multiple of 1 / UNIT. Sums of whole numbers do not depend on the order of their parts, so that a centroid
built anew from its members equals the one that grew with them, to the last bit.
"""

import math
from collections.abc import Iterable, Mapping

UNIT = 65_536
"""The fixed-point length of a vector of length one."""


def inverse_document_frequencies(documents: int, holding: Iterable[int]) -> list[float]:
    """How much each token tells that so many of `documents` hold: `ln((documents + 2) / (holding + 1/2))`."""
    log, scale = math.log, documents + 2
    return [log(scale / (held + 0.5)) for held in holding]


def unit_vector(raw: Mapping[str, float]) -> dict[str, int]:
    """These weights scaled to length UNIT and rounded; none is less than 1. The empty vector stays empty."""
    length = math.hypot(*raw.values())
    scale = UNIT / length if length else 0.0
    return {token: int(weight * scale + 0.5) or 1 for token, weight in raw.items()}


def damped(count: int) -> float:
    """How much a token counts that occurs `count` times in one text: `1 + ln count`."""
    return 1.0 + math.log(count) if count > 1 else 1.0


def dot(left: Mapping[str, int], right: Mapping[str, int]) -> int:
    """The exact inner product of two fixed-point vectors, in units of 1 / UNIT**2."""
    if len(left) > len(right):
        left, right = right, left
    total = 0
    for token, weight in left.items():
        if token in right:
            total += weight * right[token]
    return total
