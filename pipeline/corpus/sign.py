"""Sign: read documents batch by batch, and keep of each its text, its id and its band keys.

    files --split--> records, in batches --parse, canonical text, shingles, MinHash, bands--> pieces of the work

One process splits, and others do the rest. A batch that is kept is not signed again.
"""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.codec import InvalidRecord
from pipeline.corpus.canonical import canonical
from pipeline.corpus.documents import Document, Fields, parser
from pipeline.corpus.records import Record, Source, records
from pipeline.corpus.work import CorpusError, Work
from pipeline.similarity.sign_texts import Scheme, pack, pack_bytes, sign_texts

SIGNED = "signed.json"
"""The piece that says that all batches are there."""
MOST = 25_000
"""Documents of a batch."""


class Task(NamedTuple):
    """How documents are signed."""

    folder: Path
    fields: Fields
    scheme: Scheme
    keep: bool
    """whether signatures are kept"""
    strict: bool
    """whether a batch with a malformed record is not kept"""


class Batch(NamedTuple):
    """Records of one file that follow one another."""

    source: Source
    records: list[Record]


class Refused(NamedTuple):
    """A malformed record."""

    path: str
    line: int
    error: str


@dataclass(frozen=True, slots=True)
class Progress:
    """What is told of a run while it lasts."""

    refused: Callable[[Refused], None]
    """a malformed record"""
    resumed: Callable[[int], None]
    """so many records were signed by an earlier run"""
    read: Callable[[int], None]
    """so many bytes of the files have been read"""
    joined: Callable[[], None]
    """one more band is done"""


def batch_name(number: int) -> str:
    """The piece that a batch is."""
    return f"batch-{number:06}.npz"


def sign(
    work: Work,
    sources: Sequence[Source],
    task: Task,
    *,
    jobs: int,
    most_bytes: int,
    tell: Progress,
) -> None:
    """Sign all documents, from the first batch that the work lacks on."""
    if work.done(SIGNED):
        return
    for source in sources:
        parser(source, task.fields)  # which may say that there are no such columns
    number = passed = 0
    while work.done(batch_name(number)):
        passed += len(work.load(batch_name(number), "sizes")["sizes"])
        number += 1
    if passed:
        tell.resumed(passed)
    waiting: deque[Future[list[Refused]]] = deque()

    def finish() -> None:
        for each in waiting.popleft().result():
            tell.refused(each)

    batches = _batches(sources, passed, most_bytes, tell.read)
    ahead = next(batches, None)
    with ProcessPoolExecutor(jobs, get_context("spawn"), _end_with_parent) as pool:
        while (batch := ahead) is not None:
            ahead = next(batches, None)
            passed += len(batch.records)
            if ahead is None and not waiting:  # a process is not worth its start for one batch
                for each in sign_batch(task, number, batch):
                    tell.refused(each)
            else:
                waiting.append(pool.submit(sign_batch, task, number, batch))
            number += 1
            if len(waiting) > jobs:
                finish()
        while waiting:
            finish()
    if passed >= 2**31:
        raise CorpusError(f"There are {passed:,} documents; {2**31 - 1:,} are the most that can be compared at once.")
    with work.writing(SIGNED) as file:
        file.write(f'{{"batches": {number}, "records": {passed}}}'.encode())


def _batches(sources: Sequence[Source], passed: int, most_bytes: int, told: Callable[[int], None]) -> Iterator[Batch]:
    """The records after the first `passed` ones."""
    before = 0
    for source in sources:

        def say(read: int, before: int = before) -> None:
            told(before + read)

        before += Path(source.path).stat().st_size
        held: list[Record] = []
        size = 0
        for record in records(source, say):
            if passed:
                passed -= 1
                continue
            held.append(record)
            size += len(record.raw)
            if len(held) == MOST or size >= most_bytes:
                yield Batch(source, held)
                held, size = [], 0
        if held:
            yield Batch(source, held)


def _end_with_parent() -> None:
    """Have this process end when the one that started it does, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for that one
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    Thread(target=watch, daemon=True).start()


@lru_cache(maxsize=4)
def _parser(source: Source, fields: Fields) -> Callable[[Record], Document]:
    return parser(source, fields)


def sign_batch(task: Task, number: int, batch: Batch) -> list[Refused]:
    """Sign the documents of a batch and keep them; returns the malformed records."""
    source = batch.source
    parse, refused = _parser(source, task.fields), list[Refused]()
    ids, texts = list[bytes](), list[str]()
    bad: NDArray[np.bool_] = np.zeros(len(batch.records), np.bool_)
    for place, record in enumerate(batch.records):
        try:
            identity, text = parse(record)
        except InvalidRecord as wrong:
            identity, text = b"", ""
            bad[place] = True
            refused.append(Refused(source.path, record.line, str(wrong)))
        ids.append(identity or (f'"{source.name}:{record.line}"' if source.name else str(record.line)).encode())
        texts.append(canonical(text, task.scheme.unit))
    if refused and task.strict:
        return refused
    packed, named = pack(texts), pack_bytes(ids)
    signed = sign_texts(packed, task.scheme, keep=task.keep)
    Work(task.folder).save(
        batch_name(number),
        {
            "texts": packed.bytes,
            "text_ends": packed.ends,
            "ids": named.bytes,
            "id_ends": named.ends,
            "bad": bad,
            "keys": signed.keys,
            "sizes": signed.sizes,
            "signatures": signed.signatures,
        },
    )
    return refused
