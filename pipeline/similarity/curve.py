"""How likely locality-sensitive hashing finds a pair: the S-curve of banded MinHash, and the recall of SimHash blocks."""

from fractions import Fraction
from itertools import combinations
from math import ceil, comb, log

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.simhash import BITS


def candidate_probability(jaccard: NDArray[np.float64], bands: int, rows: int) -> NDArray[np.float64]:
    """The probability that two sets of this Jaccard similarity share a band: `1 - (1 - J**rows)**bands`.

    Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, chapter 3.4.
    """
    probability: NDArray[np.float64] = 1.0 - (1.0 - jaccard**rows) ** bands
    return probability


def bands_for(similarity: float, recall: float, size: int) -> tuple[int, int]:
    """The bands and rows that find pairs of this similarity with at least this probability, by at most `size` rows in all.

    Of those the ones with the longest bands, which fewest other pairs share. Raises ValueError if there are none.
    """
    if not (0.0 < similarity <= 1.0 and 0.0 < recall < 1.0):
        raise ValueError(
            f"A similarity above 0 and up to 1 and a recall between 0 and 1 are wanted, not {similarity} and {recall}."
        )
    for rows in range(size, 0, -1):
        missed = 1.0 - similarity**rows
        bands = 1 if missed == 0 else ceil(log(1.0 - recall) / log(missed)) if missed < 1 else size + 1
        if bands * rows <= size:
            return max(1, bands), rows
    raise ValueError(
        f"Signatures of {size} rows do not find pairs of similarity {similarity} with probability {recall}. Ask for a larger "
        "size, or for less."
    )


def expected_errors(similarity: float, bands: int, rows: int) -> tuple[float, float]:
    """How many of the pairs below a similarity become candidates, and how many from it on do not.

    For pairs of all similarities alike: means of the S-curve from 0 to the similarity, and of what it leaves from there to 1
    (as in Zhu, Nargesian, Pu and Miller 2016, LSH Ensemble, which minimise them).
    """
    points = (np.arange(4_096) + 0.5) / 4_096
    false = candidate_probability(points * similarity, bands, rows).mean()
    missed = 1.0 - candidate_probability(similarity + points * (1.0 - similarity), bands, rows).mean()
    return float(false), float(missed)


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
