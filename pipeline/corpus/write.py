"""Write: what a run found, into files that are there whole or not at all; packed if their names say so."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from pipeline.corpus.collection import Collection
from pipeline.corpus.groups import Group
from pipeline.corpus.join import edges_between
from pipeline.corpus.records import Source, header, records
from pipeline.corpus.work import Work, told, whole_file
from pipeline.lines import packing

AT_ONCE = 100_000
"""Documents whose pairs are in memory at once."""


@contextmanager
def output(path: Path) -> Iterator[IO[bytes]]:
    """A file to write; `-` is the standard output. Raises CorpusError if the disk is full."""
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with told(path), whole_file(path) as file, packing(file, path.suffix) as packed:
        yield packed


def write_pairs(path: Path, work: Work, collection: Collection, bands: int) -> int:
    """All pairs of documents that are similar: `{"a", "b", "similarity"}`, a before b; returns how many.

    They come in the order of the first document with each text: those of one text, then those of it and others.
    """
    first = np.asarray(collection.first)
    begins = np.zeros(len(first) + 1, np.int64)
    np.cumsum(np.bincount(first, minlength=len(first)), out=begins[1:])
    members, begin = np.argsort(first, kind="stable").data, begins.data
    repeated = iter([*np.flatnonzero(np.diff(begins) > 1).tolist(), len(first)])
    id_of = collection.id_of()
    written = 0
    with output(path) as file:

        def write(one: int, other: int, similarity: str) -> None:
            nonlocal written
            one, other = min(one, other), max(one, other)
            file.write(b'{"a":%b,"b":%b,"similarity":%b}\n' % (id_of(one), id_of(other), similarity.encode()))
            written += 1

        copied = next(repeated)

        def write_copies(last: int) -> None:
            """The pairs of documents with one text, of those whose first is `last` or before it."""
            nonlocal copied
            while copied <= min(last, len(first) - 1):
                for one, other in combinations(members[begin[copied] : begin[copied + 1]], 2):
                    write(one, other, "1.0")
                copied = next(repeated)

        for edges in edges_between(work, bands, len(collection), AT_ONCE):
            for left, right, shared, whole in edges.tolist():
                write_copies(left)
                similarity = str(round(shared / whole, 4))
                for one in members[begin[left] : begin[left + 1]]:
                    for other in members[begin[right] : begin[right + 1]]:
                        write(one, other, similarity)
        write_copies(len(first))
    return written


def write_groups(path: Path, collection: Collection, groups: Iterable[Group]) -> None:
    """The groups: `{"representative", "size", "members": [{"id", "similarity"}]}`, the similarity to the representative."""
    id_of = collection.id_of()
    with output(path) as file:
        for group in groups:
            members = b",".join(
                b'{"id":%b,"similarity":%b}' % (id_of(number), str(similarity).encode())
                for number, similarity in zip(group.members, group.similarities, strict=True)
            )
            file.write(
                b'{"representative":%b,"size":%d,"members":[%b]}\n'
                % (id_of(group.representative), len(group.members), members)
            )


def write_kept(path: Path, sources: Sequence[Source], kept: NDArray[np.bool_]) -> None:
    """The records that are kept, byte for byte as they stand in the files; a header once."""
    keeps = iter(kept.tolist())
    with output(path) as file:
        if sources:
            file.write(header(sources[0]))
        for source in sources:
            for record in records(source):
                if next(keeps):
                    file.write(record.raw if record.raw.endswith(b"\n") else record.raw + b"\n")
