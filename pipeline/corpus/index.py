"""An index of documents in one file: which are most similar to a text, by shingles or by fingerprints.

    documents --sign--> keys of each band, sorted --+
              --SimHash of the words--> fingerprints -+--> one file of arrays, in numpy's format

A text is looked up in each band; what is found is ranked by the exact Jaccard similarity. A fingerprint is compared with all
others, eight bytes each: for one text that takes milliseconds, and it is exact at any distance.
"""

from collections import Counter
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile, ZipFile

import msgspec
import numpy as np
from numpy.typing import NDArray

from pipeline.corpus.canonical import canonical
from pipeline.corpus.collection import Collection
from pipeline.corpus.work import CorpusError, told, whole_file
from pipeline.similarity import simhash
from pipeline.similarity.join import NUMBER, runs, similarities
from pipeline.similarity.sign_texts import Scheme, Texts, one_of, pack, pack_bytes, sign_texts

FORM = 1
"""Of the file; another one is refused."""


class Match(NamedTuple):
    """A document that is similar to a text."""

    number: int
    similarity: float
    """exact Jaccard similarity of the shingles"""
    distance: int
    """bits in which the fingerprints differ"""


class Index(NamedTuple):
    """Documents as they are searched."""

    scheme: Scheme
    texts: Texts
    """as they are compared"""
    ids: Texts
    """as JSON"""
    sizes: NDArray[np.uint32]
    bands: NDArray[np.uint64]
    """by band, the sorted `key << 32 | number` of the documents with shingles"""
    fingerprints: NDArray[np.uint64]

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self.sizes)

    def id(self, number: int) -> bytes:
        """The id of a document, as JSON."""
        return one_of(self.ids, number)

    def text(self, number: int) -> str:
        """The text of a document, as it is compared."""
        return one_of(self.texts, number).decode()

    def numbers_of(self, identity: str) -> list[int]:
        """The documents with this id, as text or as number."""
        wanted = {msgspec.json.encode(identity), identity.encode()}
        lengths = np.diff(self.ids.ends)
        likely = np.flatnonzero(np.isin(lengths, [*map(len, wanted)]))
        return [number for number in likely.tolist() if self.id(number) in wanted]

    def similar(self, text: str, least: float, limit: int) -> list[Match]:
        """The documents that share a band with a text and are at least so similar: the most similar first, then the earliest."""
        own = pack([canonical(text, self.scheme.unit)])
        signed = sign_texts(own, self.scheme)
        if not signed.sizes[0]:
            return []
        found = [np.empty(0, np.uint64)]
        for key, band in zip(signed.keys[:-1, 0].tolist(), self.bands, strict=True):
            low = np.searchsorted(band, np.uint64(key << 32))
            high = np.searchsorted(band, np.uint64((key << 32) + int(NUMBER)), side="right")
            found.append(band[low:high] & NUMBER)
        numbers = np.unique(np.concatenate(found)).astype(np.int64)
        alike = self._similarities(own, int(signed.sizes[0]), numbers)
        return self._ranked(fingerprint(text), numbers[alike >= least], alike[alike >= least], limit)

    def within(self, text: str, bits: int, limit: int) -> list[Match]:
        """The documents whose fingerprints differ in at most so many bits, the nearest first, then the most similar."""
        hashed = fingerprint(text)
        apart = np.bitwise_count(self.fingerprints ^ np.uint64(hashed))
        numbers = np.flatnonzero((apart <= bits) & (self.sizes > 0))
        if len(numbers) > limit:
            furthest = np.partition(apart[numbers], limit - 1)[limit - 1]
            numbers = numbers[apart[numbers] <= furthest]
        own = pack([canonical(text, self.scheme.unit)])
        size = int(sign_texts(own, self.scheme).sizes[0])
        found = self._ranked(hashed, numbers, self._similarities(own, size, numbers), len(numbers))
        return sorted(found, key=lambda match: match.distance)[:limit]

    def _similarities(self, own: Texts, size: int, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """How similar a text is to each of these documents."""
        together = pack_bytes([own.bytes.tobytes(), *(one_of(self.texts, number) for number in numbers.tolist())])
        sizes = np.concatenate([np.array([size], np.uint32), self.sizes[numbers]])
        others = np.arange(1, len(numbers) + 1, dtype=np.int64)
        edges = similarities(np.column_stack([np.zeros_like(others), others]), sizes, together, self.scheme)
        return edges[:, 2] / np.maximum(edges[:, 3], 1)

    def _ranked(
        self, simhash_of_text: int, numbers: NDArray[np.int64], alike: NDArray[np.float64], limit: int
    ) -> list[Match]:
        order = np.lexsort((numbers, -alike))[:limit]
        apart = np.bitwise_count(self.fingerprints[numbers[order]] ^ np.uint64(simhash_of_text))
        rows = zip(numbers[order].tolist(), np.round(alike[order], 4).tolist(), apart.tolist(), strict=True)
        return [Match(*row) for row in rows]


def fingerprint(text: str) -> int:
    """The SimHash of a text's words, as often as they occur."""
    return simhash.fingerprint(Counter(canonical(text, "words").split()))


def build(collection: Collection, scheme: Scheme, path: Path) -> int:
    """Write the index of a collection; returns how many documents are in it. Raises CorpusError if it cannot be written."""
    kept = np.flatnonzero(~np.asarray(collection.bad))
    texts, ids = _taken(collection.texts, kept), _taken(collection.ids, kept)
    sizes = np.asarray(collection.sizes)[kept]
    bands = [runs(collection.keys[band][kept], sizes > 0, 0, 1) for band in range(scheme.bands)]
    fingerprints = np.array([fingerprint(one_of(texts, number).decode()) for number in range(len(kept))], np.uint64)
    with told(path), whole_file(path) as file:
        np.savez(
            file,
            allow_pickle=False,
            form=np.array(FORM),
            scheme=np.frombuffer(msgspec.json.encode(scheme), np.uint8),
            texts=texts.bytes,
            text_ends=texts.ends,
            ids=ids.bytes,
            id_ends=ids.ends,
            sizes=sizes,
            bands=np.array(bands, np.uint64).reshape(scheme.bands, -1),
            fingerprints=fingerprints,
        )
    return len(kept)


def is_index(path: Path) -> bool:
    """Whether a file looks like an index: it may be written over then."""
    try:
        with ZipFile(path) as file:
            return "form.npy" in file.namelist()
    except (BadZipFile, OSError):
        return False


def _taken(texts: Texts, numbers: NDArray[np.int64]) -> Texts:
    """Some of the texts."""
    if len(numbers) == len(texts.ends) - 1:
        return Texts(np.asarray(texts.bytes), np.asarray(texts.ends))
    return pack_bytes([one_of(texts, number) for number in numbers.tolist()])


def load(path: Path) -> Index:
    """The index in a file. Raises CorpusError if it cannot be read, or is none."""
    try:
        with told(path), np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        form, scheme = int(arrays["form"]), msgspec.json.decode(arrays["scheme"].tobytes(), type=Scheme)
    except (BadZipFile, EOFError, ValueError, KeyError, AttributeError, msgspec.MsgspecError):
        raise CorpusError(
            f"{path} is no index, or is damaged. Make one: newsburst similar FILE... --index {path}"
        ) from None
    if form != FORM:
        raise CorpusError(f"{path} has form {form}; this version reads form {FORM}. Make it again.")
    return Index(
        scheme,
        Texts(arrays["texts"], arrays["text_ends"]),
        Texts(arrays["ids"], arrays["id_ends"]),
        arrays["sizes"],
        arrays["bands"],
        arrays["fingerprints"],
    )
