"""The peers of `newsburst dedupe`, each as a program: `python -m bench.corpus_peers NAME FILE PAIRS WIDTH THRESHOLD`.

Each reads documents as JSON lines, signs them in two processes, finds candidates by bands, and writes the pairs whose exact
Jaccard similarity is at least the threshold: that is the work. How they sign and how they choose bands is theirs.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from pipeline.corpus.canonical import canonical

Pair = tuple[int, int]
PROCESSES = 2
CHUNK = 5_000
"""Documents that a process takes at a time."""


def shingles(text: str, width: int) -> set[str]:
    """The runs of so many characters."""
    return {text[at : at + width] for at in range(max(1, len(text) - width + 1))}


def _chunks(texts: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), CHUNK):
        yield texts[start : start + CHUNK]


def _datasketch_sign(texts: list[str], width: int) -> Any:
    from datasketch import MinHash

    sets = [[shingle.encode() for shingle in shingles(text, width)] for text in texts]
    return np.array([each.hashvalues for each in MinHash.bulk(sets, num_perm=128)])


def datasketch(signed: Iterable[Any], threshold: float) -> set[Pair]:
    """MinHashLSH with 128 permutations, and the bands that it chooses for the threshold."""
    from datasketch import MinHash, MinHashLSH

    lsh, scheme = MinHashLSH(threshold=threshold, num_perm=128), MinHash(num_perm=128).scheme
    found = set[Pair]()
    number = 0
    for chunk in signed:
        for values in chunk:
            minhash = MinHash(num_perm=128, hashvalues=values, scheme=scheme)
            found.update((other, number) for other in lsh.query(minhash))
            lsh.insert(number, minhash, check_duplication=False)
            number += 1
    return found


def _rensa_sign(texts: list[str], width: int) -> Any:
    import rensa

    matrix = rensa.RMinHash.digest_matrix_from_token_sets([[*shingles(text, width)] for text in texts], 128, 42)
    return np.array(matrix.to_rows(), np.uint32)


def rensa(signed: Iterable[Any], threshold: float) -> set[Pair]:
    """Its fastest signatures, of 128 permutations, in tables of the bands that are best for the threshold by its own measure."""
    return _banded(signed, *_optimal(threshold, 128))


def _text_dedup_sign(texts: list[str], width: int) -> Any:
    import zlib

    choose = np.random.RandomState(42)
    prime, largest = np.uint64((1 << 61) - 1), np.uint64(2**32 - 1)
    a = choose.randint(1, prime, size=256, dtype=np.uint64)
    b = choose.randint(0, prime, size=256, dtype=np.uint64)
    rows = []
    for text in texts:
        hashed = np.array([zlib.crc32(shingle.encode()) for shingle in shingles(text, width)], np.uint64)
        rows.append(((hashed[:, None] * a + b) % prime & largest).min(axis=0))
    return np.array(rows, np.uint32)


def text_dedup(signed: Iterable[Any], threshold: float) -> set[Pair]:
    """text-dedup's method (src/text_dedup/minhash.py): 256 permutations by numpy, and datasketch's measure for the bands."""
    return _banded(signed, *_optimal(threshold, 256))


def _banded(signed: Iterable[Any], bands: int, rows: int) -> set[Pair]:
    tables: list[dict[bytes, list[int]]] = [defaultdict(list) for _ in range(bands)]
    number = 0
    for chunk in signed:
        for values in chunk:
            for band, table in enumerate(tables):
                table[values[band * rows : (band + 1) * rows].tobytes()].append(number)
            number += 1
    return {
        pair for table in tables for bucket in table.values() if len(bucket) > 1 for pair in combinations(bucket, 2)
    }


def _optimal(threshold: float, size: int) -> tuple[int, int]:
    """Bands and rows with the least sum of false positives and false negatives, as datasketch and text-dedup choose them."""
    points = (np.arange(200) + 0.5) / 200

    def error(bands: int, rows: int) -> float:
        false = threshold * (1 - (1 - (points * threshold) ** rows) ** bands).mean()
        missed = (1 - threshold) * ((1 - (threshold + points * (1 - threshold)) ** rows) ** bands).mean()
        return float(false + missed)

    choices = [(bands, rows) for bands in range(1, size + 1) for rows in range(1, size // bands + 1)]
    return min(choices, key=lambda choice: error(*choice))


PEERS: dict[str, tuple[Callable[[list[str], int], Any], Callable[[Iterable[Any], float], set[Pair]]]] = {
    "datasketch": (_datasketch_sign, datasketch),
    "rensa": (_rensa_sign, rensa),
    "text-dedup's method": (_text_dedup_sign, text_dedup),
}


def _sign(task: tuple[str, list[str], int]) -> Any:
    name, texts, width = task
    return PEERS[name][0](texts, width)


def main() -> None:
    """Do the work."""
    name, path, out, width, threshold = (
        sys.argv[1],
        sys.argv[2],
        Path(sys.argv[3]),
        int(sys.argv[4]),
        float(sys.argv[5]),
    )
    ids, texts = list[str](), list[str]()
    with Path(path).open("rb") as file:
        for line in file:
            document = msgspec.json.decode(line)
            ids.append(document["id"])
            texts.append(canonical(document["text"]))
    with get_context("spawn").Pool(PROCESSES) as pool:
        tasks = ((name, chunk, width) for chunk in _chunks(texts))
        candidates = PEERS[name][1](pool.imap(_sign, tasks), threshold)
    cached = lru_cache(100_000)(lambda number: shingles(texts[number], width))
    with out.open("w") as file:
        for left, right in sorted(candidates):
            one, other = cached(left), cached(right)
            common = len(one & other)
            if common / (len(one) + len(other) - common) >= threshold:
                file.write(f'{{"a": "{ids[left]}", "b": "{ids[right]}"}}\n')


if __name__ == "__main__":
    main()
