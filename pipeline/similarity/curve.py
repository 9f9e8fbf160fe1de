"""How likely locality-sensitive hashing finds a pair: the S-curve of banded MinHash, and the recall of SimHash blocks."""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.simhash import BITS


def candidate_probability(jaccard: NDArray[np.float64], bands: int, rows: int) -> NDArray[np.float64]:
    """The probability that two sets of this Jaccard similarity share a band: `1 - (1 - J**rows)**bands`.

    Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, chapter 3.4.
    """
    probability: NDArray[np.float64] = 1.0 - (1.0 - jaccard**rows) ** bands
    return probability


def block_recall(blocks: tuple[int, ...], bits: int) -> Fraction:
    """The probability that two fingerprints that differ in `bits` random bits agree in one of these blocks whole.

    Exact, by inclusion and exclusion over the blocks. Hu and You 2017 say that more blocks than differing bits guarantee it;
    their plans of 4 and 5 blocks do not have them at 4 to 7 bits.
    """
    untouched = Fraction(0)
    for count in range(1, len(blocks) + 1):
        for chosen in combinations(blocks, count):
            untouched += (-1) ** (count + 1) * Fraction(comb(BITS - sum(chosen), bits), comb(BITS, bits))
    return untouched


def block_probe(blocks: tuple[int, ...], stored: int) -> Fraction:
    """How many of `stored` random fingerprints a query finds in its buckets, counted once a block."""
    return sum((Fraction(stored, 2**bits) for bits in blocks), Fraction(0))
