"""TF-IDF vectors in whole numbers.

A weight is a multiple of 1 / UNIT. Sums of whole numbers do not depend on the order of their parts, so that a centroid
rebuilt from its members equals the one that grew with them, to the last bit.
"""

import math

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.centroids import DOCUMENTS, EMPTY, SPREAD, Centroids, place
from pipeline.similarity.compiled import kernel
from pipeline.similarity.items import Ids

UNIT = 65_536
"""The fixed-point length of a vector of length one."""
BACKGROUND_FREQUENCY, DOCUMENT_FREQUENCY = 0, 1
"""Groups of the centroids that hold word counts only: those of a background, and those of all texts that are kept."""


@kernel
def weigh(
    centroids: Centroids,
    ids: Ids,
    counts: NDArray[np.int64],
    headline_length: int,
    background: int,
    stream: int,
    spread: int,
    spread_prior: float,
    common_share: float,
    lead_weight: float,
    terms: NDArray[np.float64],
    weights: NDArray[np.int64],
) -> None:
    """The TF-IDF vector of a new text, `(1 + ln count) * ln((documents + 2) / (holding + 1/2))` scaled to length UNIT.

    `ids` are its distinct tokens, of which the first `headline_length` are its headline's; others weigh `lead_weight` as much.
    `counts` has two rows: how often each token occurs, and whether it is marked. `documents` is the number of texts: those of the
    `background`, those of the `stream`, and this one. `holding` is how many of these hold the token or, if that is more, how many
    its spread suggests (see `centroids`): `documents` times the excess over `common_share` of its share of `spread` (that of all
    stories) plus `spread_prior`. So a word of most events of a subject is common, and a word of a single event is not.

    Fills `weights`, none less than 1, and for the tokens of the headline the rows of `terms`: idf, rarity (documents over those
    that hold it), and whether it is marked.
    """
    owners, entries = centroids.owners, centroids.entries
    documents = background + stream + 1
    square = 0.0
    raw = np.empty(len(ids))
    for token in range(len(ids)):
        entry = place(owners, DOCUMENT_FREQUENCY, ids[token])
        now = int(entries[entry, DOCUMENTS]) if owners[entry] != EMPTY else 0
        everywhere = int(entries[entry, SPREAD]) if owners[entry] != EMPTY else 0
        entry = place(owners, BACKGROUND_FREQUENCY, ids[token])
        before = int(entries[entry, DOCUMENTS]) if owners[entry] != EMPTY else 0
        share = everywhere / (spread + spread_prior)
        holding = max(1.0 + before + now, documents * (share - common_share))
        idf = math.log((documents + 2) / (holding + 0.5))
        raw[token] = idf * (1.0 + math.log(counts[0, token]))
        if token < headline_length:
            terms[0, token] = idf
            terms[1, token] = documents / holding
            terms[2, token] = counts[1, token]
        else:
            raw[token] *= lead_weight
        square += raw[token] * raw[token]
    for token in range(len(ids)):
        weights[token] = max(1, int(UNIT * raw[token] / math.sqrt(square) + 0.5))
