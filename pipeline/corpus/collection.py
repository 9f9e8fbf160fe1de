"""A collection: all documents of a run as arrays on the disk, of which the system keeps in memory what is in use."""

import mmap
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from pipeline.corpus.sign import SIGNED, batch_name
from pipeline.corpus.work import Work
from pipeline.similarity.join import first_copies, runs
from pipeline.similarity.sign_texts import Texts

COLLECTED = "collected.json"
"""The piece that says that the arrays are complete."""
ARRAYS = ("texts", "text_ends", "ids", "id_ends", "bad", "keys", "sizes", "signatures")


class Collection(NamedTuple):
    """The documents of a run, by their number from 0, in the order of the input."""

    texts: Texts
    """canonical; empty for what is no document"""
    ids: Texts
    """as JSON"""
    bad: NDArray[np.bool_]
    """whether it is no document"""
    keys: NDArray[np.uint32]
    """by band and document; in the last line the checksum of the text"""
    sizes: NDArray[np.uint32]
    """different shingles"""
    signatures: NDArray[np.uint32]
    """by document and row, if they were kept"""
    first: NDArray[np.int32]
    """the first document with the same text"""

    def __len__(self) -> int:
        """How many records there are."""
        return len(self.sizes)

    def id_of(self) -> Callable[[int], bytes]:
        """What gives the id of a document, as JSON."""
        ids, ends = self.ids.bytes.data, self.ids.ends.data
        return lambda number: ids[ends[number] : ends[number + 1]].tobytes()

    def forget(self) -> None:
        """Let the system take back the memory of the arrays; they are read again when they are used."""
        for array in (self.texts.bytes, self.ids.bytes, self.keys, self.signatures):
            mapped: Any = getattr(array, "_mmap", None)
            if mapped is not None:
                mapped.madvise(mmap.MADV_DONTNEED)


def collect(work: Work, bands: int, parts: int) -> Collection:
    """The documents of all batches, put together once."""
    if not work.done(COLLECTED):
        _put_together(work, bands)
        _find_copies(work, parts)
        with work.writing(COLLECTED) as file:
            file.write(b"{}")
    for number in range(msgspec.json.decode(work.path(SIGNED).read_bytes())["batches"]):
        work.path(batch_name(number)).unlink(missing_ok=True)
    return _open(work, work.open("first"))


def _open(work: Work, first: NDArray[np.int32]) -> Collection:
    of = {name: work.open(name) for name in ARRAYS}
    return Collection(
        Texts(of["texts"], of["text_ends"]),
        Texts(of["ids"], of["id_ends"]),
        of["bad"],
        of["keys"],
        of["sizes"],
        of["signatures"],
        first,
    )


def _put_together(work: Work, bands: int) -> None:
    """Write the arrays of all batches behind one another."""
    batches: int = msgspec.json.decode(work.path(SIGNED).read_bytes())["batches"]
    ends = [work.load(batch_name(number), "text_ends", "id_ends", "sizes") for number in range(batches)]
    records = sum(len(of["sizes"]) for of in ends)
    rows = work.load(batch_name(0), "signatures")["signatures"].shape if batches else (0, 0)
    kept = records if rows[0] else 0
    whole: dict[str, NDArray[Any]] = {
        "texts": work.new("texts", (sum(int(of["text_ends"][-1]) for of in ends),), np.uint8),
        "text_ends": work.new("text_ends", (records + 1,), np.int64),
        "ids": work.new("ids", (sum(int(of["id_ends"][-1]) for of in ends),), np.uint8),
        "id_ends": work.new("id_ends", (records + 1,), np.int64),
        "bad": work.new("bad", (records,), np.bool_),
        "keys": work.new("keys", (bands + 1, records), np.uint32),
        "sizes": work.new("sizes", (records,), np.uint32),
        "signatures": work.new("signatures", (kept, rows[1]), np.uint32),
    }
    at = text = name = 0
    whole["text_ends"][0] = whole["id_ends"][0] = 0
    for number in range(batches):
        of = work.load(batch_name(number))
        after = at + len(of["sizes"])
        whole["text_ends"][at + 1 : after + 1] = of["text_ends"][1:] + text
        whole["id_ends"][at + 1 : after + 1] = of["id_ends"][1:] + name
        whole["texts"][text : text + len(of["texts"])] = of["texts"]
        whole["ids"][name : name + len(of["ids"])] = of["ids"]
        whole["keys"][:, at:after] = of["keys"]
        for each in ("bad", "sizes", *(["signatures"] if kept else [])):
            whole[each][at:after] = of[each]
        at, text, name = after, text + len(of["texts"]), name + len(of["ids"])
    for array in whole.values():
        _flush(array)


def _flush(array: NDArray[Any]) -> None:
    if isinstance(array, np.memmap):
        array.flush()


def _find_copies(work: Work, parts: int) -> None:
    first = work.new("first", (len(work.open("sizes")),), np.int32)
    first[:] = np.arange(len(first), dtype=np.int32)
    collection = _open(work, first)
    counts = np.asarray(collection.sizes) > 0
    for part in range(parts):
        first_copies(runs(collection.keys[-1], counts, part, parts), collection.texts, first)
    _flush(first)
