"""MinHash of 120 values: against rensa, its fastest path of the run, and datasketch."""

from collections.abc import Iterable
from typing import Any

from bench.figures import Figure, compare, timed
from bench.news import bodies, token_sets
from pipeline.similarity import minhash
from pipeline.similarity.universal import ROWS

SHINGLE = 9


def figures(*, quick: bool) -> Iterable[Figure]:
    """Batches, one at a time, and shingles of bodies."""
    import rensa
    from datasketch import MinHash

    rounds = 5 if quick else 15
    texts = token_sets()[: 5_000 if quick else None]
    encoded = [[token.encode() for token in tokens] for tokens in texts]

    def kept(tokens: list[str]) -> Any:
        made = rensa.RMinHash(num_perm=ROWS, seed=42)
        made.update(tokens)
        return made

    for size in (128, 500):
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]

        def ours(batches: list[list[list[str]]] = batches) -> None:
            for batch in batches:
                minhash.signatures(batch)

        def objects(batches: list[list[list[str]]] = batches) -> None:
            for batch in batches:
                [kept(tokens) for tokens in batch]

        def matrix(batches: list[list[list[str]]] = batches) -> None:
            for batch in batches:
                rensa.RMinHash.digest_matrix_from_token_sets(batch, ROWS, 42)

        for way in (ours, objects, matrix):
            way()
        yield compare(
            f"MinHash, batches of {size}",
            "rensa",
            timed(ours, len(texts)),
            {"objects kept": timed(objects, len(texts)), "digest matrix": timed(matrix, len(texts))},
            unit="us a headline",
            target=0.8,
            rounds=rounds,
        )
        if size == 500:
            few = encoded[:2_000]
            yield compare(
                "MinHash, batches of 500",
                "datasketch bulk",
                timed(ours, len(texts)),
                timed(lambda: MinHash.bulk(few, num_perm=ROWS), len(few)),
                unit="us a headline",
                target=1 / 25,
                rounds=5,
            )
    yield compare(
        "MinHash, one at a time, values as an array",
        "rensa update + digest",
        timed(lambda: [minhash.signature(tokens) for tokens in texts], len(texts)),
        timed(lambda: [kept(tokens).digest() for tokens in texts], len(texts)),
        unit="us a headline",
        target=0.6,
        rounds=rounds,
    )
    yield compare(
        "MinHash, one at a time",
        "rensa's object, kept without its values",
        timed(lambda: [minhash.signature(tokens) for tokens in texts], len(texts)),
        timed(lambda: [kept(tokens) for tokens in texts], len(texts)),
        unit="us a headline",
        target=1.0,
        rounds=rounds,
    )
    long = bodies()
    shingles = [[text[at : at + SHINGLE] for at in range(len(text) - SHINGLE + 1)] for text in long]
    yield compare(
        "MinHash of 500-word bodies, 9-character shingles, from text",
        "rensa with slicing",
        timed(lambda: [minhash.shingled(text, SHINGLE) for text in long], len(long)),
        timed(
            lambda: [
                kept([text[at : at + SHINGLE] for at in range(len(text) - SHINGLE + 1)]).digest() for text in long
            ],
            len(long),
        ),
        unit="us a body",
        target=0.4,
        rounds=rounds,
    )
    yield compare(
        "MinHash of 500-word bodies, 9-character shingles, from text",
        "rensa, given the shingles",
        timed(lambda: [minhash.shingled(text, SHINGLE) for text in long], len(long)),
        timed(lambda: [kept(each).digest() for each in shingles], len(long)),
        unit="us a body",
        target=1.0,
        rounds=rounds,
    )
