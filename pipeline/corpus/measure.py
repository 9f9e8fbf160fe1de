"""Measure: how many pairs of a sample of documents share a band, beside what the S-curve says."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from pipeline.codec import InvalidRecord
from pipeline.corpus.canonical import canonical
from pipeline.corpus.documents import Fields, parser
from pipeline.corpus.records import Source, records
from pipeline.corpus.work import CorpusError
from pipeline.similarity.curve import candidate_probability
from pipeline.similarity.join import similarities
from pipeline.similarity.shingles import Unit
from pipeline.similarity.sign_texts import Scheme, pack, sign_texts

STEPS = 20
"""Ranges of similarity."""


class Choice(NamedTuple):
    """Bands and rows."""

    bands: int
    rows: int

    def __str__(self) -> str:
        """As people write it."""
        return f"{self.bands}x{self.rows}"


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """The pairs of a sample whose similarity is from `low` to below `high`, and what one choice does with them."""

    low: float
    high: float
    pairs: int
    found: int
    """pairs that share a band"""
    expected: float
    """how many would, by the S-curve at the similarity of each"""


class Sample(NamedTuple):
    """The exact similarities of all pairs of a sample, and which of them share a band."""

    documents: int
    similarities: NDArray[np.float64]
    candidates: list[NDArray[np.bool_]]
    """by choice"""

    def ranges(self, number: int, choice: Choice) -> list[Range]:
        """What the choice with this number does with pairs of each range of similarity; the last one holds 1, too."""
        step = np.minimum((self.similarities * STEPS).astype(np.int64), STEPS - 1)
        expected = candidate_probability(self.similarities, choice.bands, choice.rows)
        pairs = np.bincount(step, minlength=STEPS).tolist()
        found = np.bincount(step, self.candidates[number], STEPS).tolist()
        wanted = np.bincount(step, expected, STEPS).tolist()
        return [
            Range(low=at / STEPS, high=(at + 1) / STEPS, pairs=pairs[at], found=int(found[at]), expected=wanted[at])
            for at in range(STEPS)
            if pairs[at]
        ]

    def recall(self, number: int, least: float) -> tuple[int, int]:
        """How many pairs of at least this similarity share a band by the choice with this number, of how many."""
        wanted = self.similarities >= least
        return int((wanted & self.candidates[number]).sum()), int(wanted.sum())


def first_texts(sources: Sequence[Source], fields: Fields, most: int) -> list[str]:
    """The texts of the first documents. Raises InvalidRecord for a malformed one, with its line."""
    texts: list[str] = []
    for source in sources:
        parse = parser(source, fields)
        for record in islice(records(source), most - len(texts)):
            try:
                texts.append(parse(record)[1])
            except InvalidRecord as error:
                raise InvalidRecord(f"{source.path}, line {record.line}: {error}") from None
    return texts


def measure(texts: Sequence[str], unit: Unit, width: int, choices: Sequence[Choice]) -> Sample:
    """Compare all pairs of texts that have shingles, exactly, and see which share a band."""
    found = [text for text in (canonical(text, unit) for text in texts) if text]
    if len(found) < 2:
        raise CorpusError(f"A sample has at least two documents with text; this has {len(found)}.")
    packed = pack(found)
    size = max(choice.bands * choice.rows for choice in choices)
    left, right = np.triu_indices(len(found), 1)
    candidates = []
    sizes = sign_texts(packed, Scheme(unit, width, 1, 1, 1)).sizes
    for choice in choices:
        keys = sign_texts(packed, Scheme(unit, width, choice.bands, choice.rows, size)).keys[:-1]
        shared = np.zeros(len(left), np.bool_)
        for band in keys:
            shared |= band[left] == band[right]
        candidates.append(shared)
    pairs = np.column_stack([left, right]).astype(np.int64)
    edges = similarities(pairs, sizes, packed, Scheme(unit, width, 1, 1, 1))
    return Sample(len(found), edges[:, 2] / np.maximum(edges[:, 3], 1), candidates)
