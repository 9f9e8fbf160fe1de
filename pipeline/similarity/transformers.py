"""MinHash and SimHash as transformers, with the methods that scikit-learn's have."""

import math
import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from operator import index
from typing import Self

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity import simhash
from pipeline.similarity.compiled import COMPILED
from pipeline.similarity.minhash import sign_tokens
from pipeline.similarity.minhash_compiled import sign_rows
from pipeline.similarity.shingles import SHORT, Unit
from pipeline.similarity.sign_texts import Scheme, pack, sign_texts
from pipeline.similarity.universal import ROWS, coefficients

MAX_SIZE = 1_000_000


def _check_list(texts: object) -> None:
    """A string has a length and items, too, and is never meant."""
    if isinstance(texts, str | bytes):
        raise TypeError(f"A list is wanted, with an item for each text; this is one {type(texts).__name__}.")


class MinHash:
    """MinHash signatures (Broder 1997) of `size` rows: arrays of unsigned 32-bit integers.

    The share of equal rows of two signatures is an unbiased estimate of the Jaccard similarity J of their sets, with the standard
    error `sqrt(J (1 - J) / size)`. Signatures of one seed can be compared, and those of more rows begin with those of fewer.

    >>> minhash = MinHash(size=400)
    >>> signatures = minhash.transform([{"a", "b", "c"}, {"b", "c", "d"}, set()])
    >>> signatures.shape, signatures.dtype
    ((3, 400), dtype('uint32'))
    >>> abs(minhash.similarity(signatures[0], signatures[1]) - 0.5) < 3 * minhash.standard_error(0.5)
    True
    """

    def __init__(self, size: int = ROWS, seed: int = 0) -> None:
        if not 1 <= index(size) <= MAX_SIZE:
            raise ValueError(f"A signature has 1 to {MAX_SIZE:,} rows, not {size}.")
        self.size, self.seed = size, seed

    def fit(self, sets: object = None, y: object = None) -> Self:  # noqa: ARG002 - as scikit-learn calls it
        """Nothing: there is nothing to learn."""
        return self

    def transform(self, sets: Sequence[Collection[str]]) -> NDArray[np.uint32]:
        """The signatures of sets of tokens, one a line; repeated tokens count once. The empty set has the largest values."""
        _check_list(sets)
        a, b = coefficients(self.size, self.seed)
        signatures = np.empty((len(sets), self.size), np.uint32)
        for tokens, signature in zip(sets, signatures, strict=True):
            if COMPILED:
                sign_rows(np.array([zlib.crc32(token.encode()) for token in tokens], np.uint32), a, b, signature)
            else:
                sign_tokens(tokens, a, b, signature)
        return signatures

    fit_transform = transform

    def transform_texts(
        self, texts: Sequence[str], width: int = SHORT, unit: Unit = "characters"
    ) -> NDArray[np.uint32]:
        """The signatures of the sets of runs of `width` characters or words, as `shingles` gives them; much faster than these.

        >>> from pipeline.similarity.shingles import shingles
        >>> minhash = MinHash(size=64)
        >>> text = "the cat sat on the mat"
        >>> bool((minhash.transform_texts([text], 5) == minhash.transform([shingles(text, 5)])).all())
        True
        """
        _check_list(texts)
        if width < 1:
            raise ValueError(f"A shingle has at least one of the {unit}, not {width}.")
        scheme = Scheme(unit, width, 1, self.size, self.size)
        return sign_texts(pack([*texts]), scheme, keep=True, seed=self.seed).signatures

    @staticmethod
    def similarity(left: NDArray[np.uint32], right: NDArray[np.uint32]) -> float:
        """The estimated Jaccard similarity of two. Raises ValueError if they have different sizes, or are more than two."""
        if left.ndim != 1 or left.shape != right.shape:
            raise ValueError(f"Two signatures of one size are compared, not {left.shape} and {right.shape}.")
        return float(np.count_nonzero(left == right)) / len(left)

    def standard_error(self, similarity: float) -> float:
        """The standard deviation of estimates of this similarity. Raises ValueError for what is none.

        >>> MinHash(size=100).standard_error(0.5)
        0.05
        """
        if not 0.0 <= similarity <= 1.0:
            raise ValueError(f"A similarity is from 0 to 1, not {similarity}.")
        return math.sqrt(similarity * (1.0 - similarity) / self.size)


class SimHash:
    """SimHash fingerprints (Charikar 2002) of 64 bits.

    Of two texts whose weights are vectors at an angle of a, in radians, each bit differs with probability about a / pi.

    >>> simhash = SimHash()
    >>> same, near, other = simhash.transform([["a", "b", "c", "d", "e"], ["a", "b", "c", "d"], ["x", "y"]])
    >>> simhash.distance(same, same), simhash.distance(same, near) < simhash.distance(same, other)
    (0, True)
    """

    def fit(self, texts: object = None, y: object = None) -> Self:  # noqa: ARG002 - as scikit-learn calls it
        """Nothing: there is nothing to learn."""
        return self

    def transform(self, texts: Sequence[Mapping[str, int] | Sequence[str]]) -> NDArray[np.uint64]:
        """The fingerprints of texts: a mapping of tokens to whole weights, or tokens, which weigh as often as they occur.

        Weights of a text together are below 2**31.
        """
        _check_list(texts)
        weights = (text if isinstance(text, Mapping) else Counter(text) for text in texts)
        return np.array([simhash.fingerprint(weight) for weight in weights], np.uint64)

    fit_transform = transform

    @staticmethod
    def distance(left: int, right: int) -> int:
        """In how many of 64 bits two fingerprints differ (Hamming distance)."""
        return simhash.distance(int(left), int(right))
