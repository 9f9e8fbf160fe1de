"""Indexes that find similar items: by bands of MinHash signatures, and by blocks of SimHash fingerprints."""

from operator import index
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.buckets import MIN_SLOTS, Buckets, Keys, Numbers, band_keys, insert, new_buckets, query
from pipeline.similarity.compiled import kernel
from pipeline.similarity.curve import bands_for
from pipeline.similarity.nearby import BITS, Nearby
from pipeline.similarity.universal import ROWS

MAX_BANDS = 255
"""The shared bands of an item are counted in a byte."""
UNBOUNDED = 2**31 - 1


class BandIndex:
    """Signatures by their bands: a query finds those that share one, of `bands` bands of `rows` rows each.

    Of similarity J each is found with probability `1 - (1 - J**rows)**bands` (Leskovec, Rajaraman and Ullman, Mining of Massive
    Datasets, 3.4). Items are numbered from 0 as they are added.

    >>> from pipeline.similarity import MinHash
    >>> signatures = MinHash(size=100).transform([{"a", "b", "c", "d"}, {"x", "y"}, {"a", "b", "c", "e"}])
    >>> index = BandIndex(bands=50, rows=2).fit(signatures)
    >>> numbers, shared = index.query(signatures[0])
    >>> numbers.tolist(), int(shared[0])
    ([0, 2], 50)
    """

    def __init__(self, bands: int, rows: int) -> None:
        if not 1 <= index(bands) <= MAX_BANDS or index(rows) < 1:
            raise ValueError(f"There are 1 to {MAX_BANDS} bands of at least one row, not {bands} x {rows}.")
        self.bands, self.rows = bands, rows
        self._buckets = new_buckets(bands, UNBOUNDED, MIN_SLOTS)
        self._size = 0

    @classmethod
    def for_similarity(cls, similarity: float, recall: float = 0.99, size: int = ROWS) -> Self:
        """The index that finds pairs of this similarity with this probability, and fewest others, by `size` rows at most.

        Raises ValueError if so many rows cannot.
        """
        return cls(*bands_for(similarity, recall, size))

    def __len__(self) -> int:
        """How many items there are."""
        return self._size

    def fit(self, signatures: NDArray[np.uint32], y: object = None) -> Self:  # noqa: ARG002 - as scikit-learn calls it
        """Add signatures, one a line."""
        signatures = np.asarray(signatures)
        if signatures.ndim != 2:
            raise ValueError(f"Signatures are a table, one a line; this has the shape {signatures.shape}.")
        if len(signatures):
            self._check(signatures[0])
            _insert_all(self._buckets, np.ascontiguousarray(signatures), self.rows)
            self._size += len(signatures)
        return self

    def add(self, signature: NDArray[np.uint32]) -> int:
        """Add a signature; returns its number."""
        self._check(signature)
        self._size += 1
        return insert(self._buckets, band_keys(signature, self.bands, self.rows))

    def query(self, signature: NDArray[np.uint32]) -> tuple[Numbers, Numbers]:
        """The numbers of the items that share a band with a signature, ascending, and how many bands each shares."""
        self._check(signature)
        found, shared = np.empty((2, self._size), np.int64)
        count = query(self._buckets, band_keys(signature, self.bands, self.rows), found, shared)
        order = np.argsort(found[:count])
        return found[order], shared[order]

    def save(self, path: str | Path) -> None:
        """Write the index to a file, in numpy's format."""
        with Path(path).open("wb") as file:
            np.savez(file, shape=np.array([self.bands, self.rows]), keys=self._buckets.node[: self._size, :, 0])

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The index that `save` wrote. Raises OSError, and ValueError if the file is none."""
        arrays = _arrays(path, {"shape", "keys"})
        shape, keys = arrays["shape"], arrays["keys"]
        if shape.shape != (2,) or shape.dtype.kind != "i" or keys.dtype != np.uint32 or keys.shape[1:] != (shape[0],):
            raise ValueError(f"{path} is no index of bands, or is damaged.")
        made = cls(int(shape[0]), int(shape[1]))
        _insert_keys(made._buckets, keys)
        made._size = len(keys)
        return made

    def _check(self, signature: NDArray[np.uint32]) -> None:
        if np.ndim(signature) != 1 or getattr(signature, "dtype", None) != np.uint32:
            raise ValueError("A signature is an array of unsigned 32-bit integers, as MinHash makes them.")
        if len(signature) < self.bands * self.rows:
            raise ValueError(
                f"{self.bands} bands of {self.rows} rows need {self.bands * self.rows}; this has {len(signature)}."
            )


class BlockIndex:
    """Fingerprints by their blocks: a query finds all within so many bits, up to 7, and no others.

    Of two fingerprints that differ in at most 7 of 64 bits, one of four blocks of 16 differs in at most one (Manku, Jain and
    Das Sarma 2007). Items are numbered from 0 as they are added.

    >>> index = BlockIndex().fit([0b0000, 0b0111, 0b1111111111])
    >>> index.query(0b0001, bits=2).tolist()
    [0, 1]
    """

    def __init__(self) -> None:
        self._nearby = Nearby()
        self._fingerprints = np.empty(MIN_SLOTS, np.uint64)

    def __len__(self) -> int:
        """How many items there are."""
        return len(self._nearby)

    @property
    def fingerprints(self) -> NDArray[np.uint64]:
        """The fingerprint of each item."""
        return self._fingerprints[: len(self)]

    def fit(self, fingerprints: NDArray[np.uint64], y: object = None) -> Self:  # noqa: ARG002 - as scikit-learn calls it
        """Add fingerprints: unsigned 64-bit integers. Raises TypeError, OverflowError or ValueError for what is none."""
        given = np.asarray(fingerprints)
        if given.dtype != np.uint64:
            given = np.array([index(fingerprint) for fingerprint in fingerprints], np.uint64)
        if given.ndim != 1:
            raise ValueError(f"Fingerprints are a list of integers; this has the shape {given.shape}.")
        if len(self):
            for fingerprint in given.tolist():
                self.add(fingerprint)
        else:
            self._fingerprints = given.copy()
            self._nearby = Nearby.of(self._fingerprints)
        return self

    def add(self, fingerprint: int) -> int:
        """Add a fingerprint; returns its number. Raises OverflowError beyond 64 bits."""
        if len(self) == len(self._fingerprints):
            self._fingerprints = np.concatenate([self._fingerprints, np.empty(len(self) + MIN_SLOTS, np.uint64)])
        self._fingerprints[len(self)] = fingerprint
        return self._nearby.add(fingerprint)

    def query(self, fingerprint: int, bits: int = 3) -> Numbers:
        """The numbers of all items that differ in at most so many bits, ascending. Raises ValueError beyond 7 bits."""
        return self._nearby.query(index(fingerprint), index(bits))

    def save(self, path: str | Path) -> None:
        """Write the index to a file, in numpy's format."""
        with Path(path).open("wb") as file:
            np.savez(file, bits=np.array(BITS), fingerprints=self.fingerprints)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The index that `save` wrote. Raises OSError, and ValueError if the file is none."""
        return cls().fit(_arrays(path, {"bits", "fingerprints"})["fingerprints"])


def _arrays(path: str | Path, names: set[str]) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
    except (EOFError, ValueError, AttributeError, TypeError, BadZipFile) as error:
        raise ValueError(f"{path} is no index: {error}.") from None
    if set(arrays) != names:
        raise ValueError(f"{path} is no index of this kind: it has {', '.join(sorted(arrays))}.")
    return arrays


@kernel
def _insert_all(buckets: Buckets, signatures: NDArray[np.uint32], rows: int) -> None:
    for number in range(len(signatures)):
        insert(buckets, band_keys(signatures[number], len(buckets.head), rows))


@kernel
def _insert_keys(buckets: Buckets, keys: NDArray[np.uint32]) -> None:
    own: Keys = np.empty(keys.shape[1], np.int64)
    for number in range(len(keys)):
        own[:] = keys[number]
        insert(buckets, own)
