"""MinHash signatures of token sets (Broder 1997), by the universal hash of Newshound's "Clustering news stories at scale".

Row j of a signature is the least value of `h_j(x) = (a_j * x + b_j) mod 4294967311` over the CRC-32 values x of the tokens.
The share of equal rows in two signatures is an unbiased estimate of the Jaccard similarity of the two sets.

All arithmetic is exact: a, b and x are below 2**32, so that `a * x + b` stays below 2**64. Newshound's worked example is
not (it rounds to a double, and its b exceeds the stated maximum): its 609,632,658 is 609,633,111.
"""

import zlib
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.compiled import COMPILED
from pipeline.similarity.minhash_compiled import TEXT, TOKEN, Signature, rolling, sign_joined, sign_shingles
from pipeline.similarity.universal import LARGEST, PRIME, ROWS, A, B

HASH_BATCH = 1_000
"""Tokens that numpy hashes at once."""


def signature(tokens: Collection[str]) -> Signature:
    """The MinHash signature of a set of tokens: ROWS unsigned 32-bit integers. Repeated tokens count once."""
    values = np.empty((1, ROWS), np.uint32)
    only: Signature = values[0]
    if not COMPILED or sign_joined(TOKEN.join(tokens).encode(), values) != len(tokens):
        _sign(tokens, only)
    return only


def signatures(texts: Sequence[Collection[str]]) -> NDArray[np.uint32]:
    """The signatures of several sets of tokens, one a line."""
    values = np.empty((len(texts), ROWS), np.uint32)
    if COMPILED:
        joined = TEXT.join(map(TOKEN.join, texts))
        total = sum(map(len, texts))
        separators = total - sum(
            map(bool, texts)
        )  # a token with one inside would make up for a text of one empty token
        if sign_joined(joined.encode(), values) == total and joined.count(TOKEN) == separators:
            return values
    for line, tokens in enumerate(texts):
        _sign(tokens, values[line])
    return values


def shingled(text: str, width: int) -> Signature:
    """The signature of the set of a text's runs of `width` characters; a shorter text is its own run, an empty one has none."""
    values = np.empty(ROWS, np.uint32)
    width = min(width, len(text))
    if COMPILED and text:
        sign_shingles(text.encode(), width, *rolling(width), values)
    else:
        _sign({text[start : start + width] for start in range(len(text) - width + 1)} - {""}, values)
    return values


def _sign(tokens: Collection[str], values: Signature) -> None:
    sign_tokens(tokens, A, B, values)


def sign_tokens(tokens: Collection[str], a: NDArray[np.uint32], b: NDArray[np.uint32], values: Signature) -> None:
    """Fill in the signature of a set of tokens with these coefficients, by numpy."""
    values[:] = LARGEST
    checksums = np.array([zlib.crc32(token.encode()) for token in tokens], np.uint64)
    for start in range(0, len(checksums), HASH_BATCH):
        residues = (checksums[start : start + HASH_BATCH, None] * a.astype(np.uint64) + b) % np.uint64(PRIME)
        np.minimum(values, residues.min(axis=0), out=values, casting="unsafe")


def similarity(left: Signature, right: Signature) -> float:
    """The estimated Jaccard similarity of the two sets: the share of positions in which the signatures agree."""
    return float(np.count_nonzero(left == right)) / len(left)


def to_bytes(values: NDArray[np.uint32]) -> bytes:
    """The signature as little-endian bytes, 4 a row."""
    return values.astype("<u4").tobytes()


def from_bytes(data: bytes) -> NDArray[np.uint32]:
    """The signature that `to_bytes` wrote. Raises ValueError if it has not ROWS values."""
    values = np.frombuffer(data, "<u4").astype(np.uint32, copy=False)
    if len(values) != ROWS:
        raise ValueError(f"A signature has {ROWS} values of 4 bytes; this one has {len(data)} bytes.")
    return values
