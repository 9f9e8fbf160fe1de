"""Bucket tables of 40 bands x 3 rows, a query and then an insert a story: against rensa and datasketch."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bench.figures import Figure, absolute, compare, timed
from bench.news import token_sets
from pipeline.similarity import minhash
from pipeline.similarity.buckets import MIN_SLOTS, Buckets, band_keys, insert, new_buckets, query
from pipeline.similarity.compiled import kernel
from pipeline.similarity.universal import ROWS

BANDS, BAND_ROWS = 40, 3
BATCH = 128
NEWEST = 10
MOST_BYTES = 500


@kernel
def _online(
    buckets: Buckets,
    signatures: NDArray[np.uint32],
    rows: int,
    found: NDArray[np.int64],
    shared: NDArray[np.int64],
) -> int:
    """Query, then insert, story after story; returns how many candidates there were."""
    candidates = 0
    for index in range(len(signatures)):
        keys = band_keys(signatures[index], len(buckets.head), rows)
        candidates += query(buckets, keys, found, shared)
        insert(buckets, keys)
    return candidates


class Ours:
    """The bucket tables, filled in batches."""

    def __init__(self, capacity: int) -> None:
        self.buckets = new_buckets(BANDS, capacity, MIN_SLOTS)
        self._found, self._shared = np.empty((2, 2_000_000), np.int64)

    def run(self, signatures: NDArray[np.uint32]) -> int:
        """Query and insert these."""
        return sum(
            _online(self.buckets, signatures[start : start + BATCH], BAND_ROWS, self._found, self._shared)
            for start in range(0, len(signatures), BATCH)
        )

    @property
    def bytes(self) -> int:
        """What the arrays take."""
        return self.buckets.head.nbytes + self.buckets.node.nbytes + self.buckets.seen.nbytes


def signatures(count: int) -> NDArray[np.uint32]:
    """So many signatures: of the three days' headlines, then of the same with other words in the place of half of theirs."""
    texts = token_sets()
    made = [minhash.signatures(texts[:count])]
    for showing in range(1, -(-count // len(texts))):
        other = [[f"{token}{showing}" if n % 2 else token for n, token in enumerate(tokens)] for tokens in texts]
        made.append(minhash.signatures(other))
    return np.concatenate(made)[:count]


def figures(*, quick: bool) -> Iterable[Figure]:
    """The three days', 200,000 and a million stories in the window."""
    import rensa
    from datasketch import MinHash, MinHashLSH

    few, many = len(token_sets()), 60_000 if quick else 200_000
    rounds = 5
    texts = token_sets()
    all_signatures = signatures(many)

    def peers(count: int) -> list[object]:
        made = []
        for n in range(count):
            one = rensa.RMinHash(num_perm=ROWS, seed=42)
            showing, index = divmod(n, len(texts))
            tokens = texts[index]
            one.update([f"{token}{showing}" if showing and k % 2 else token for k, token in enumerate(tokens)])
            made.append(one)
        return made

    theirs = peers(many)

    def by_rensa(count: int) -> None:
        tables = rensa.RMinHashLSH(threshold=0.5, num_perm=ROWS, num_bands=BANDS)
        for key in range(count):
            tables.query(theirs[key])
            tables.insert(key, theirs[key])

    Ours(NEWEST).run(all_signatures[:BATCH])
    for count, capacity, target in ((few, 1_000_000, 0.3), (many, NEWEST, 0.2)):
        words = "uncapped" if capacity > NEWEST else f"newest {NEWEST} a bucket"
        yield compare(
            f"LSH 40 x 3, query then insert, {count:,} stories, {words}",
            "rensa RMinHashLSH",
            timed(lambda count=count, capacity=capacity: Ours(capacity).run(all_signatures[:count]), count),  # type: ignore[misc]
            timed(lambda count=count: by_rensa(count), count),  # type: ignore[misc]
            unit="us a story",
            target=target,
            rounds=rounds,
        )
    hashed = [MinHash(num_perm=ROWS, hashvalues=row.astype(np.uint64), scheme="legacy") for row in all_signatures[:few]]

    def by_datasketch(hashed: list[object] = hashed) -> None:
        tables = MinHashLSH(num_perm=ROWS, params=(BANDS, BAND_ROWS))
        for key, one in enumerate(hashed):
            tables.query(one)
            tables.insert(key, one)

    yield compare(
        f"LSH 40 x 3, query then insert, {few:,} stories, uncapped",
        "datasketch MinHashLSH",
        timed(lambda: Ours(1_000_000).run(all_signatures[:few]), few),
        timed(by_datasketch, few),
        unit="us a story",
        target=1 / 40,
        rounds=1 if quick else rounds,
    )
    if quick:
        return
    theirs.clear()
    million = signatures(1_000_000)
    big = Ours(NEWEST)
    big.run(million[: -5 * few])
    last = iter(np.split(million[-5 * few :], 5))
    yield compare(
        "LSH 40 x 3, newest 10 a bucket, 1,000,000 in the window",
        f"ours at {few:,}",
        timed(lambda: big.run(next(last)), few),
        timed(lambda: Ours(NEWEST).run(all_signatures[:few]), few),
        unit="us a story",
        target=3.0,
    )
    yield absolute("LSH 40 x 3: bytes a story, 1,000,000", "the limit", [big.bytes / 1e6], MOST_BYTES, "bytes")
