"""Dedupe: the near-duplicates of files of documents, by what the run was asked for.

    sign --> collect --> join, band by band --> groups --> write

Each step keeps what it did in the work folder, and passes over what it finds there.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import numpy as np

from pipeline.codec import InvalidRecord
from pipeline.corpus.collection import Collection, collect
from pipeline.corpus.documents import Fields, parser
from pipeline.corpus.groups import Keep, group_documents, groups_of, representatives
from pipeline.corpus.join import join_bands, parts_for
from pipeline.corpus.records import Source, header, records
from pipeline.corpus.sign import Progress, Refused, Task, sign
from pipeline.corpus.work import CorpusError, Work
from pipeline.corpus.write import write_groups, write_kept, write_pairs
from pipeline.similarity.shingles import LONG, LONG_TEXT, SHORT, WORDS, Unit
from pipeline.similarity.sign_texts import Scheme

LOOKED_AT = 1_000
"""Documents by whose length the shingles are chosen."""
FIXED = 300_000_000
"""Bytes that the program itself needs, compiled code included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The files that are asked for."""

    pairs: Path | None = None
    groups: Path | None = None
    kept: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a run is asked for."""

    sources: Sequence[Source]
    fields: Fields
    scheme: Scheme
    least: float
    """similarity of near-duplicates"""
    estimated: bool
    keep: Keep
    strict: bool

    def plan(self, *, every: bool) -> dict[str, Any]:
        """What the pieces of the work depend on."""
        return plan_of(self.sources, self.fields, self.scheme) | {
            "similarity": self.least,
            "estimated": self.estimated,
            "pairs": every,
            "strict": self.strict,
        }


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found."""

    documents: int
    malformed: int
    empty: int
    """documents without a shingle"""
    copies: int
    """documents whose text an earlier one has"""
    near_copies: int
    """other documents that are not kept"""
    groups: int
    kept: int
    pairs: int | None
    """pairs of documents, if they were asked for"""


def default_width(sources: Sequence[Source], fields: Fields, unit: Unit) -> int:
    """The width of shingles for documents like the first ones: that for short or for long texts by their median."""
    if unit == "words":
        return WORDS
    lengths: list[int] = []
    for source in sources:
        parse = parser(source, fields)
        for record in islice(records(source), LOOKED_AT - len(lengths)):
            with suppress(InvalidRecord):
                lengths.append(len(parse(record)[1]))
    return LONG if lengths and median(lengths) >= LONG_TEXT else SHORT


def plan_of(sources: Sequence[Source], fields: Fields, scheme: Scheme) -> dict[str, Any]:
    """What signed documents depend on."""
    stats = [Path(source.path).stat() for source in sources]
    return {
        "files": [(source.path, of.st_size, of.st_mtime_ns) for source, of in zip(sources, stats, strict=True)],
        "formats": [(source.format, source.encoding, source.name) for source in sources],
        "fields": fields,
        **msgspec.to_builtins(scheme),
    }


def sign_all(
    work: Work,
    sources: Sequence[Source],
    fields: Fields,
    scheme: Scheme,
    *,
    keep: bool = False,
    strict: bool = False,
    memory: int,
    jobs: int,
    tell: Progress,
) -> None:
    """Sign the documents within so many bytes of memory. Raises InvalidRecord for a malformed record of a strict run."""

    def refused(record: Refused) -> None:
        if strict:
            raise InvalidRecord(f"{record.path}, line {record.line}: {record.error}")
        tell.refused(record)

    most_bytes = max(1_000_000, min(32_000_000, _room(memory) // (16 * (jobs + 2))))
    task = Task(work.folder, fields, scheme, keep, strict)
    sign(work, sources, task, jobs=jobs, most_bytes=most_bytes, tell=replace(tell, refused=refused))


def _room(memory: int) -> int:
    """What the program itself leaves of the memory."""
    return max(memory - FIXED, memory // 4)


def check_outputs(sources: Sequence[Source], outputs: Outputs) -> None:
    """Raises CorpusError for what would be noticed only at the end: a folder that is not there, one file for two things."""
    paths = [path for path in (outputs.pairs, outputs.groups, outputs.kept) if path is not None and str(path) != "-"]
    for path in paths:
        if not path.parent.is_dir():
            raise CorpusError(f"{path}: there is no folder {path.parent}.")
        if any(path.resolve() == Path(source.path).resolve() for source in sources):
            raise CorpusError(f"{path} is read, and cannot be written at the same time.")
    if len({path.resolve() for path in paths}) < len(paths):
        raise CorpusError("Two outputs have the same name.")
    if outputs.kept is not None:
        _check_formats(sources)


def _check_formats(sources: Sequence[Source]) -> None:
    forms = Counter(source.format for source in sources)
    if len(forms) > 1:
        raise CorpusError(
            f"The files have several formats ({', '.join(sorted(forms))}): their records cannot be in one file."
        )
    headers = {header(source).strip() for source in sources}
    if len(headers) > 1:
        raise CorpusError("The CSV files have different headers: their rows cannot be in one file.")


def dedupe(work: Work, asked: Asked, outputs: Outputs, *, memory: int, jobs: int, tell: Progress) -> Summary:
    """Do what is asked for, as far as the work has not done it, and write the outputs.

    `memory` is in bytes. Raises CorpusError, OSError, and in a strict run InvalidRecord for a malformed record.
    """
    every = outputs.pairs is not None
    plan = asked.plan(every=every)
    sign_all(
        work,
        asked.sources,
        asked.fields,
        asked.scheme,
        keep=asked.estimated,
        strict=asked.strict,
        memory=memory,
        jobs=jobs,
        tell=tell,
    )
    collection = collect(work, asked.scheme.bands, jobs)
    parts = parts_for(len(collection), _room(memory) // 2, jobs)
    join_bands(
        work,
        collection,
        asked.scheme,
        asked.least,
        every=every,
        estimated=asked.estimated,
        parts=parts,
        jobs=jobs,
        told=tell.joined,
    )
    if asked.plan(every=every) != plan:
        raise CorpusError("A file was changed while it was read. Give the same command again.")
    return _write(work, collection, asked, outputs)


def _write(work: Work, collection: Collection, asked: Asked, outputs: Outputs) -> Summary:
    bands = asked.scheme.bands
    groups = group_documents(work, collection, bands)
    chosen = representatives(collection, groups, asked.keep)
    numbers, bad = np.arange(len(collection)), np.asarray(collection.bad)
    kept = (chosen == numbers) & ~bad
    pairs = None
    if outputs.pairs is not None:
        pairs = write_pairs(outputs.pairs, work, collection, bands)
    if outputs.groups is not None:
        found = groups_of(collection, groups, chosen, asked.scheme, estimated=asked.estimated)
        write_groups(outputs.groups, collection, found)
    if outputs.kept is not None:
        write_kept(outputs.kept, asked.sources, kept)
    documents = int((~bad).sum())
    copies = int((np.asarray(collection.first) != numbers).sum())
    return Summary(
        documents=documents,
        malformed=int(bad.sum()),
        empty=int(((np.asarray(collection.sizes) == 0) & ~bad).sum()),
        copies=copies,
        near_copies=documents - int(kept.sum()) - copies,
        groups=int((np.bincount(groups, minlength=1) > 1).sum()),
        kept=int(kept.sum()),
        pairs=pairs,
    )
