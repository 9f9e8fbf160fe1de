"""Many texts at once: of each the keys of its bands, the checksum of the whole, and how many different shingles it has."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity import minhash
from pipeline.similarity.buckets import band_keys
from pipeline.similarity.compiled import COMPILED, kernel, unlocked_kernel
from pipeline.similarity.minhash_compiled import CRC, sign_rows
from pipeline.similarity.shingles import Unit, shingles
from pipeline.similarity.shingles_compiled import Shingles, cut, index, new_shingles
from pipeline.similarity.universal import LARGEST, coefficients


@dataclass(frozen=True, slots=True)
class Scheme:
    """What texts are cut into, and how their signatures are cut into bands."""

    unit: Unit
    width: int
    """characters or words of a shingle"""
    bands: int
    rows: int
    size: int
    """rows of a signature: at least `bands * rows`"""


class Texts(NamedTuple):
    """Texts in UTF-8, one after the other."""

    bytes: NDArray[np.uint8]
    ends: NDArray[np.int64]
    """where each starts, and where the last ends: one more than there are texts"""


class Signed(NamedTuple):
    """What `sign_texts` finds."""

    keys: NDArray[np.uint32]
    """by band and text: equal if the band's rows are; in the last line the CRC-32 of the whole text"""
    sizes: NDArray[np.uint32]
    """different shingles of each text"""
    signatures: NDArray[np.uint32]
    """by text and row; without texts if they are not kept"""


def pack(texts: list[str]) -> Texts:
    """The texts as one array."""
    return pack_bytes([text.encode() for text in texts])


def pack_bytes(encoded: Sequence[bytes]) -> Texts:
    """The same of texts in UTF-8."""
    ends = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([*map(len, encoded)], out=ends[1:])
    return Texts(np.frombuffer(b"".join(encoded), np.uint8), ends)


def one_of(texts: Texts, number: int) -> bytes:
    """One of the texts, in UTF-8."""
    return texts.bytes[texts.ends[number] : texts.ends[number + 1]].tobytes()


def sign_texts(texts: Texts, scheme: Scheme, *, keep: bool = False, seed: int = 0) -> Signed:
    """The band keys of texts, and with `keep` their signatures. A text without shingles has no size, and any keys.

    Compiled, it lets other threads run meanwhile.
    """
    count = len(texts.ends) - 1
    needed = scheme.size if keep else scheme.bands * scheme.rows
    keys, sizes = np.zeros((scheme.bands + 1, count), np.uint32), np.zeros(count, np.uint32)
    signatures = np.empty((count if keep else 0, needed), np.uint32)
    a, b = coefficients(needed, seed)
    longest = int(np.diff(texts.ends).max(initial=1))  # wider runs than a text are the text
    room = new_shingles(max(1, min(scheme.width, longest)), words=scheme.unit == "words")
    way = _sign if COMPILED else _sign_by_numpy
    way(texts.bytes, texts.ends, room, a, b, scheme.rows, keys, sizes, signatures)
    return Signed(keys, sizes, signatures)


@unlocked_kernel
def _sign(
    texts: NDArray[np.uint8],
    ends: NDArray[np.int64],
    room: Shingles,
    a: NDArray[np.uint32],
    b: NDArray[np.uint32],
    rows: int,
    keys: NDArray[np.uint32],
    sizes: NDArray[np.uint32],
    signatures: NDArray[np.uint32],
) -> None:
    bands = len(keys) - 1
    own = np.empty(len(a), np.uint32)
    for number in range(len(sizes)):
        text = texts[ends[number] : ends[number + 1]]
        cut(room, text)
        index(room, text)
        signature = signatures[number] if len(signatures) > 0 else own
        sign_rows(room.checksums[: room.count], a, b, signature)
        sizes[number] = room.size
        for band, key in enumerate(band_keys(signature, bands, rows)):
            keys[band, number] = key
        keys[bands, number] = _checksum(text)


def _sign_by_numpy(
    texts: NDArray[np.uint8],
    ends: NDArray[np.int64],
    room: Shingles,
    a: NDArray[np.uint32],
    b: NDArray[np.uint32],
    rows: int,
    keys: NDArray[np.uint32],
    sizes: NDArray[np.uint32],
    signatures: NDArray[np.uint32],
) -> None:
    """The same, where kernels are not compiled."""
    unit: Unit = "words" if room.words else "characters"
    bands = len(keys) - 1
    for number in range(len(sizes)):
        text = texts[ends[number] : ends[number + 1]]
        raw = text.tobytes()
        tokens = shingles(raw.decode(), room.width, unit)
        signature = np.empty(len(a), np.uint32)
        minhash.sign_tokens(tokens, a, b, signature)
        if len(signatures):
            signatures[number] = signature
        sizes[number] = len(tokens)
        keys[:bands, number] = band_keys(signature, bands, rows)
        keys[bands, number] = zlib.crc32(raw)


@kernel
def _checksum(text: NDArray[np.uint8]) -> np.uint32:
    rest = np.uint32(LARGEST)
    for byte in text:
        rest = CRC[(rest ^ byte) & np.uint32(255)] ^ (rest >> np.uint32(8))
    return rest ^ np.uint32(LARGEST)
