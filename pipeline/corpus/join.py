"""Join: the pairs of a collection that are near-duplicates, band by band, a part of each band's keys on each processor."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pipeline.corpus.collection import Collection
from pipeline.corpus.work import Work
from pipeline.similarity.join import Edges, connect, join, runs
from pipeline.similarity.sign_texts import Scheme

BYTES = 24
"""Memory that a document takes while its band is sorted."""


def parts_for(records: int, memory: int, jobs: int) -> int:
    """Into how many parts the keys of a band are cut: one for each job at least, and so many that those at work fit."""
    return max(jobs, -(-records * BYTES * jobs // memory))


def band_name(band: int) -> str:
    """The piece with the edges of a band."""
    return f"band-{band:03}"


def join_bands(
    work: Work,
    collection: Collection,
    scheme: Scheme,
    least: float,
    *,
    every: bool,
    estimated: bool,
    parts: int,
    jobs: int,
    told: Callable[[], None],
) -> None:
    """Find the edges of each band that the work lacks: all of them with `every`, else those that make the groups."""
    counts = (np.asarray(collection.sizes) > 0) & (np.asarray(collection.first) == np.arange(len(collection)))
    parents = None if every else np.arange(len(collection), dtype=np.int32)
    signatures = collection.signatures if estimated else None
    with ThreadPoolExecutor(jobs) as pool:
        for band in range(scheme.bands):
            if not work.done(f"{band_name(band)}.npy"):
                one = partial(_part, collection, counts, scheme, least, parents, signatures, band, parts)
                found = np.concatenate([*pool.map(one, range(parts))])
                found = found[np.lexsort((found[:, 1], found[:, 0]))]
                work.keep(band_name(band), found)
            elif parents is not None:
                found = np.asarray(work.open(band_name(band)))
            if parents is not None:
                connect(parents, found)
            collection.forget()
            told()


def _part(
    collection: Collection,
    counts: NDArray[np.bool_],
    scheme: Scheme,
    least: float,
    parents: NDArray[np.int32] | None,
    signatures: NDArray[np.uint32] | None,
    band: int,
    parts: int,
    part: int,
) -> Edges:
    packed = runs(collection.keys[band], counts, part, parts)
    own = None if parents is None else parents.copy()
    return join(packed, band, collection.keys, collection.sizes, collection.texts, scheme, least, own, signatures)


def edges_between(work: Work, bands: int, records: int, most: int) -> Iterator[Edges]:
    """The edges of all bands, sorted, as many at a time as have an earlier text of `most` that follow one another."""
    each = [work.open(band_name(band)) for band in range(bands)]
    for start in range(0, records, most):
        bounds = [np.searchsorted(edges[:, 0], [start, start + most]) for edges in each]
        found = np.concatenate([edges[low:high] for edges, (low, high) in zip(each, bounds, strict=True)])
        if len(found):
            yield found[np.lexsort((found[:, 1], found[:, 0]))]
