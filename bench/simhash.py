"""Exact retrieval of SimHash fingerprints within 7 bits: against faiss, and Hu and You's figure."""

from collections.abc import Iterable

import numpy as np

from bench.figures import Figure, absolute, compare, timed
from pipeline.similarity.nearby import Nearby

HU_YOU = 3_646.0
"""Microseconds a query that Hu and You 2017 give, for an index that finds 44 % of what is 7 bits apart."""
MOST_BYTES = 64
MANY, FEW = 9_600_000, 400_000
QUERIES = 200


def figures(*, quick: bool) -> Iterable[Figure]:
    """Among 9.6 million fingerprints, one query and one insert a story."""
    import faiss

    stored = FEW if quick else MANY
    rng = np.random.default_rng(7)
    values = rng.integers(0, 2**64, stored, dtype=np.uint64)
    near = values[rng.integers(0, stored, 40 * QUERIES)]
    for _ in range(6):
        near = near ^ (np.uint64(1) << rng.integers(0, 64, len(near)).astype(np.uint64))
    index = Nearby.of(values)
    index.add(1)
    faiss.omp_set_num_threads(1)
    theirs = faiss.IndexBinaryMultiHash(64, 4, 16)
    theirs.nflip = 1
    theirs.add(values.view(np.uint8).reshape(-1, 8))
    queries = iter(near.tolist())
    asked = iter(near[::-1])

    def ours() -> None:
        for _ in range(QUERIES):
            assert len(index.query_then_add(next(queries)))

    def peer() -> None:
        for _ in range(QUERIES // 10):
            theirs.range_search(np.array([next(asked)]).view(np.uint8).reshape(1, 8), 8)

    ours()
    peer()
    row = compare(
        f"SimHash, all within 7 bits of one, {stored:,} stored, query + insert",
        "faiss IndexBinaryMultiHash, nflip 1, query alone",
        timed(ours, QUERIES),
        timed(peer, QUERIES // 10),
        unit="us",
        target=1 / 25,
        rounds=7,
    )
    yield row
    yield absolute(
        f"SimHash, the same, {stored:,} stored", "1/30 of Hu and You's 3,646 us (finds 44 %)", row.ours_range + [row.ours] * 3,
        HU_YOU / 30, "us",
    )  # fmt: skip
    yield absolute("SimHash: bytes a fingerprint", "the limit", [index.bytes / len(index)], MOST_BYTES, "bytes")
