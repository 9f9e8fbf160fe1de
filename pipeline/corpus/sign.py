"""Sign: read documents batch by batch, and keep of each its text, its id and its band keys.

    files --read--> batches --canonical text, shingles, MinHash, bands--> pieces of the work

One thread reads while the others sign. A batch that is kept is not signed again.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.corpus.documents import Document, Fields, Format, documents
from pipeline.corpus.work import CorpusError, Work
from pipeline.similarity.shingles import canonical
from pipeline.similarity.sign_texts import Scheme, pack, sign_texts

SIGNED = "signed.json"
"""The piece that says that all batches are there."""
MOST = 50_000
"""Documents of a batch."""


class Source(NamedTuple):
    """A file of documents."""

    path: str
    format: Format
    name: str
    """what a document without an id is called by, with its line: the name of the file, if there are several"""


@dataclass(slots=True)
class Batch:
    """Records that follow one another."""

    ids: list[bytes] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    bad: list[int] = field(default_factory=list)
    """those that are no documents, by their place in the batch"""
    characters: int = 0

    def add(self, document: Document, source: Source) -> None:
        """Take a record in."""
        if document.error:
            self.bad.append(len(self.ids))
        line = f'"{source.name}:{document.line}"'.encode() if source.name else str(document.line).encode()
        self.ids.append(document.id or line)
        self.texts.append(document.text)
        self.characters += len(document.text)


def read(
    sources: Sequence[Source],
    fields: Fields,
    encoding: str,
    passed: int,
    refused: Callable[[Source, Document], None],
    told: Callable[[int], None],
) -> Iterator[tuple[Source, Document]]:
    """The records of all files after the first `passed` ones; those that are no documents are told to `refused`.

    `told` is given how many bytes of the files have been read.
    """
    left, before = passed, 0
    for source in sources:

        def say(read: int, before: int = before) -> None:
            told(before + read)

        before += Path(source.path).stat().st_size
        for document in documents(source.path, source.format, fields, encoding, left, say):
            if left:
                left -= 1
                continue
            if document.error:
                refused(source, document)
            yield source, document


def batch_name(number: int) -> str:
    """The piece that a batch is."""
    return f"batch-{number:06}.npz"


def sign(
    work: Work,
    records: Callable[[int], Iterator[tuple[Source, Document]]],
    scheme: Scheme,
    *,
    keep: bool,
    jobs: int,
    most_characters: int,
    resumed: Callable[[int], None],
) -> None:
    """Sign all documents, from the first batch that the work lacks on; with `keep`, their signatures are kept.

    `records` gives them after the first so many. `resumed` is given how many were signed by an earlier run.
    """
    if work.done(SIGNED):
        return
    number = passed = 0
    while work.done(batch_name(number)):
        passed += len(work.load(batch_name(number))["sizes"])
        number += 1
    if passed:
        resumed(passed)
    waiting: deque[Future[None]] = deque()
    with ThreadPoolExecutor(jobs) as pool:
        for batch in _batches(records(passed), most_characters):
            waiting.append(pool.submit(_sign, work, number, batch, scheme, keep))
            number, passed = number + 1, passed + len(batch.ids)
            if len(waiting) > jobs:
                waiting.popleft().result()
        while waiting:
            waiting.popleft().result()
    if passed >= 2**31:
        raise CorpusError(f"There are {passed:,} documents; {2**31 - 1:,} are the most that can be compared at once.")
    with work.writing(SIGNED) as file:
        file.write(f'{{"batches": {number}, "records": {passed}}}'.encode())


def _batches(records: Iterator[tuple[Source, Document]], most_characters: int) -> Iterator[Batch]:
    batch = Batch()
    for source, document in records:
        batch.add(document, source)
        if len(batch.ids) == MOST or batch.characters >= most_characters:
            yield batch
            batch = Batch()
    if batch.ids:
        yield batch


def _sign(work: Work, number: int, batch: Batch, scheme: Scheme, keep: bool) -> None:
    texts = pack([canonical(text, scheme.unit) for text in batch.texts])
    signed = sign_texts(texts, scheme, keep=keep)
    ids = np.zeros(len(batch.ids) + 1, np.int64)
    np.cumsum([*map(len, batch.ids)], out=ids[1:])
    bad: NDArray[np.bool_] = np.zeros(len(batch.ids), np.bool_)
    bad[batch.bad] = True
    work.save(
        batch_name(number),
        {
            "texts": texts.bytes,
            "text_ends": texts.ends,
            "ids": np.frombuffer(b"".join(batch.ids), np.uint8),
            "id_ends": ids,
            "bad": bad,
            "keys": signed.keys,
            "sizes": signed.sizes,
            "signatures": signed.signatures,
        },
    )
