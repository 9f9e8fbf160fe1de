"""MinHash signatures straight from text in UTF-8, in one call of compiled code: CRC-32, hash functions, and the least of each.

This code is for the compiler only; without it `pipeline.similarity.minhash` computes the same by numpy.

The residue of `y = a * x + b` modulo PRIME = 2**32 + 15 takes no division. With `q = (y - 15 * (y >> 32)) >> 32`, which is the
quotient or one less, `y - q * PRIME` lies in [0, 2**32 + 225), and its low 32 bits are those of `y - 15 * q`. Only below 240 can
they differ from the residue: such a row is computed again with `%`.
"""

import zlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pipeline.similarity.compiled import kernel
from pipeline.similarity.universal import LARGEST, PRIME, A, B

Signature = NDArray[np.uint32]
TOKEN, TEXT = "\0", "\1"
"""What parts tokens and texts that are handed over as one string."""
SUSPECT = 240


def _crc_table() -> NDArray[np.uint32]:
    """What CRC-32 (ISO 3309, as zlib's) does with each byte."""
    table = np.empty(256, np.uint32)
    for byte in range(256):
        rest = byte
        for _ in range(8):
            rest = rest >> 1 ^ 0xEDB88320 * (rest & 1)
        table[byte] = rest
    return table


CRC = _crc_table()


@lru_cache(maxsize=16)
def rolling(width: int) -> tuple[NDArray[np.uint32], int]:
    """What rolls the CRC-32 of a window of `width` bytes on: what each byte adds (XOR) that leaves it; and that of zeros.

    CRC-32 is linear over bits but for a constant, which is the checksum of zero bytes.
    """
    leaving = CRC
    for _ in range(width):
        leaving = (leaving >> np.uint32(8)) ^ CRC[leaving & np.uint32(255)]
    return leaving, zlib.crc32(bytes(width))


@kernel
def sign(checksums: NDArray[np.uint32], signature: Signature) -> None:
    """Fill in the signature of tokens with these CRC-32 values."""
    sign_rows(checksums, A, B, signature)


@kernel
def sign_rows(
    checksums: NDArray[np.uint32], a: NDArray[np.uint32], b: NDArray[np.uint32], signature: Signature
) -> None:
    """The same for as many rows as there are coefficients a and b."""
    rows = len(a)
    for row in range(rows):
        signature[row] = np.uint32(LARGEST)
    for index in range(len(checksums)):
        x = np.uint64(checksums[index])
        for row in range(rows):
            y = np.uint64(a[row]) * x + np.uint64(b[row])
            quotient = (y - np.uint64(15) * (y >> np.uint64(32))) >> np.uint64(32)
            signature[row] = min(signature[row], np.uint32(y - np.uint64(15) * quotient))
    for row in range(rows):
        if signature[row] < SUSPECT:
            least = np.uint64(LARGEST)
            for index in range(len(checksums)):
                least = min(
                    least, (np.uint64(a[row]) * np.uint64(checksums[index]) + np.uint64(b[row])) % np.uint64(PRIME)
                )
            signature[row] = np.uint32(least)


@kernel
def sign_joined(joined: bytes, signatures: NDArray[np.uint32]) -> int:
    """Fill in the signatures of texts that are parted by TEXT, of tokens that are parted by TOKEN.

    Returns how many tokens there are, or -1. If one text was joined and that is not the number of its tokens, one of them was
    empty or had such a character inside, and the signature is not to be used. In several texts these faults can cancel out.
    """
    checksums = np.empty(len(joined) // 2 + 1, np.uint32)
    line = count = total = length = 0
    rest = np.uint32(LARGEST)
    for index in range(len(joined) + 1):
        byte = joined[index] if index < len(joined) else np.uint8(1)
        if byte > 1:
            rest = CRC[(rest ^ byte) & np.uint32(255)] ^ (rest >> np.uint32(8))
            length += 1
            continue
        if length > 0:
            checksums[count] = ~rest
            count += 1
            length = 0
            rest = np.uint32(LARGEST)
        elif byte == 0 or count > 0:
            return -1  # an empty token
        if byte == 1:
            if line == len(signatures):
                return -1
            sign(checksums[:count], signatures[line])
            line += 1
            total += count
            count = 0
    return total


@kernel
def sign_shingles(text: bytes, width: int, leaving: NDArray[np.uint32], zeros: int, signature: Signature) -> None:
    """Fill in the signature of a text's runs of `width` characters, of which it has at least so many.

    `leaving` and `zeros` are what `rolling` says.
    """
    characters = 0
    for index in range(len(text)):
        characters += text[index] & 0xC0 != 0x80  # not the continuation of a character
    checksums = np.empty(characters - width + 1, np.uint32)
    if characters == len(text):
        rest = np.uint32(0)
        for index in range(characters):
            rest = CRC[(rest ^ text[index]) & np.uint32(255)] ^ (rest >> np.uint32(8))
            if index >= width:
                rest ^= leaving[text[index - width]]
            if index >= width - 1:
                checksums[index - width + 1] = rest ^ np.uint32(zeros)
    else:
        starts = np.empty(characters + 1, np.int64)
        starts[characters] = len(text)
        characters = 0
        for index in range(len(text)):
            if text[index] & 0xC0 != 0x80:
                starts[characters] = index
                characters += 1
        for run in range(len(checksums)):
            rest = np.uint32(LARGEST)
            for index in range(starts[run], starts[run + width]):
                rest = CRC[(rest ^ text[index]) & np.uint32(255)] ^ (rest >> np.uint32(8))
            checksums[run] = ~rest
    sign(checksums, signature)
