"""`newsburst dedupe`: the near-duplicates in files of documents."""

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast

import click
import msgspec
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from pipeline.cli.output import STORIES, counted, print_json
from pipeline.corpus.dedupe import Asked, Outputs, Summary, dedupe, default_width
from pipeline.corpus.dedupe import Progress as Told
from pipeline.corpus.documents import Fields
from pipeline.corpus.groups import Keep
from pipeline.corpus.records import Format, Source, format_by_content, format_of
from pipeline.corpus.sign import Refused
from pipeline.corpus.work import working
from pipeline.lines import lines
from pipeline.printed import shown
from pipeline.similarity.curve import bands_for, candidate_probability
from pipeline.similarity.shingles import LONG, SHORT, WORDS, Unit
from pipeline.similarity.sign_texts import Scheme

SIZE = 120
"""Rows of a signature, unless somebody says otherwise: as many as stories have."""
REFUSED_SHOWN = 20
"""Malformed records that are shown."""
UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}

OUTPUT = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


class Bytes(click.ParamType):
    """A size such as 500m or 2g."""

    name = "size"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """In bytes."""
        if isinstance(value, int):
            return value
        number, unit = value.lower().removesuffix("b").removesuffix("i"), 1
        if number[-1:] in UNITS:
            number, unit = number[:-1], UNITS[number[-1]]
        try:
            found = int(float(number) * unit)
        except ValueError:
            found = 0
        if found < UNITS["m"]:
            self.fail(f"{value!r} is no size of a megabyte or more, such as 500m or 2g.", param, ctx)
        return found


@click.command("dedupe")
@click.argument("files", nargs=-1, required=True, type=STORIES, metavar="FILE...")
@click.option("--pairs", type=OUTPUT, help="Write all near-duplicate pairs here: {a, b, similarity}.")
@click.option("--groups", type=OUTPUT, help="Write the groups here: {representative, size, members}.")
@click.option("--out", type=OUTPUT, help="Write the records without near-duplicates here, as they stand in FILE.")
@click.option("--similarity", type=click.FloatRange(0, 1, min_open=True), default=0.8, show_default=True,
              help="Least Jaccard similarity of near-duplicates.")  # fmt: skip
@click.option("--recall", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.99, show_default=True,
              help="Share of the pairs of just that similarity to be found.")  # fmt: skip
@click.option(
    "--size", type=click.IntRange(1, 4_096), default=SIZE, show_default=True, help="Most rows of a signature."
)
@click.option("--bands", type=click.IntRange(1, 4_096), help="Bands, in the place of --recall.")
@click.option("--rows", type=click.IntRange(1, 4_096), help="Rows of a band; default: --size / --bands.")
@click.option("--words", is_flag=True, help="Shingles of words, not of characters.")
@click.option("--width", type=click.IntRange(1, 1_000), help=(
    f"Characters of a shingle, or words; default: {SHORT} for short texts, {LONG} for long ones, {WORDS} words."))  # fmt: skip
@click.option(
    "--estimate", is_flag=True, help="Take the share of equal rows for the similarity, without looking at texts."
)
@click.option("--keep", type=click.Choice(["first", "last", "longest"]), default="first", show_default=True,
              help="Which document stands for its group.")  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "csv", "tsv", "lines"]), help="Default: as the name ends."
)
@click.option(
    "--text", "text", multiple=True, help="Field of the text; may be repeated. Default: title and body, or text."
)
@click.option("--id", "identity", default="", help="Field of the id. Default: id or url, or the number of the line.")
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of FILE.")
@click.option("--strict", is_flag=True, help="End at the first malformed record.")
@click.option(
    "--memory", type=Bytes(), default="2g", show_default=True, help="Memory to use; more is kept on the disk."
)
@click.option("--jobs", type=click.IntRange(1, 256), help="Threads. Default: one for each processor.")
@click.option("--work", type=click.Path(file_okay=False, path_type=Path), help=(
    "Folder for what is done so far. Default: one beside you, named after the run; deleted at the end."))  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
def dedupe_command(
    files: tuple[str, ...],
    pairs: Path | None,
    groups: Path | None,
    out: Path | None,
    similarity: float,
    recall: float,
    size: int,
    bands: int | None,
    rows: int | None,
    words: bool,
    width: int | None,
    estimate: bool,
    keep: str,
    form: Format | None,
    text: tuple[str, ...],
    identity: str,
    encoding: str,
    strict: bool,
    memory: int,
    jobs: int | None,
    work: Path | None,
    as_json: bool,
) -> None:
    """Find near-duplicates in files of documents: JSONL, CSV, TSV or plain lines, gzip and zstd; - is standard input.

    A line of TSV is an id, a headline and a text. MinHash signatures in bands find which documents to compare; these are compared
    by the exact Jaccard similarity of their shingles. A run that was ended goes on when the same command is given again, and
    writes the same files.

    \b
    Example: newsburst dedupe archive.jsonl.zst --similarity 0.8 --groups groups.jsonl --out unique.jsonl
    """  # noqa: D301 - \b is click's mark for lines to keep
    if [str(path) for path in (pairs, groups, out)].count("-") + as_json > 1:
        raise click.UsageError("Only one thing can go to the standard output: --pairs, --groups, --out or --json.")
    _check_encoding(encoding)
    unit: Unit = "words" if words else "characters"
    bands, rows = _bands_and_rows(similarity, recall, size, bands, rows)
    fields = Fields(identity, text)
    with ExitStack() as stack:
        sources, own = stack.enter_context(_sources(files, form, encoding))
        width = width or default_width(sources, fields, unit)
        asked = Asked(
            sources=sources,
            fields=fields,
            scheme=Scheme(unit, width, bands, rows, max(size, bands * rows) if estimate else bands * rows),
            least=similarity,
            estimated=estimate,
            keep=cast("Keep", keep),
            strict=strict,
        )
        plan = asked.plan(every=pairs is not None)
        name = hashlib.blake2b(msgspec.json.encode(plan), digest_size=6).hexdigest()
        folder = work or own or Path(f".newsburst-dedupe-{name}")
        of = stack.enter_context(working(folder, plan))
        told = stack.enter_context(_progress(asked, folder))
        outputs = Outputs(pairs=pairs, groups=groups, kept=out)
        summary = dedupe(of, asked, outputs, memory=memory, jobs=jobs or len(os.sched_getaffinity(0)), tell=told)
        of.clear()
    if as_json:
        print_json(msgspec.to_builtins(summary) | {"scheme": msgspec.to_builtins(asked.scheme)})
    else:
        _print(summary, asked, outputs)


def _check_encoding(encoding: str) -> None:
    try:
        "".encode(encoding)
    except LookupError:
        raise click.BadParameter(f"{encoding!r} is no encoding that Python knows.", param_hint="--encoding") from None
    if "\n".encode(encoding) != b"\n":
        raise click.BadParameter(
            f"Lines do not end with one byte in {encoding}; save the file as UTF-8.", param_hint="--encoding"
        )


def _bands_and_rows(
    similarity: float, recall: float, size: int, bands: int | None, rows: int | None
) -> tuple[int, int]:
    if bands is None:
        if rows is not None:
            raise click.UsageError("--rows needs --bands.")
        try:
            return bands_for(similarity, recall, size)
        except ValueError as error:
            raise click.UsageError(f"{error} --size says how many there may be.") from None
    rows = rows or size // bands
    if not rows:
        raise click.UsageError(f"{bands} bands need at least as many rows; --size is {size}.")
    return bands, rows


@contextmanager
def _sources(files: tuple[str, ...], form: Format | None, encoding: str) -> Iterator[tuple[list[Source], Path | None]]:
    """The files; standard input is copied first, into a folder of its own, as it cannot be read twice."""
    if files.count("-") > 1:
        raise click.UsageError("Standard input can be read only once.")
    with ExitStack() as stack:
        own = None
        sources = []
        for path in files:
            name = path if len(files) > 1 else ""
            if path == "-":
                own = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="newsburst-dedupe-")))
                copy = own / "stdin"
                with copy.open("wb") as file:
                    shutil.copyfileobj(sys.stdin.buffer, file)
                _, begin = next(lines(str(copy)), (0, b""))
                guess = format_by_content(begin or b"")
                sources.append(Source(str(copy), form or guess, encoding, name))
            else:
                sources.append(Source(path, form or format_of(path), encoding, name))
        yield sources, own and own / "work"


@contextmanager
def _progress(asked: Asked, folder: Path) -> Iterator[Told]:
    """Bars with the time left on a terminal; malformed records and what goes on as lines."""
    total = sum(Path(source.path).stat().st_size for source in asked.sources)
    refused = 0
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        reading = bars.add_task("reading", total=total)
        comparing = bars.add_task("comparing", total=asked.scheme.bands, start=False)

        def say(text: str) -> None:
            console.print(shown(text), soft_wrap=True)

        def refuse(record: Refused) -> None:
            nonlocal refused
            refused += 1
            if refused <= REFUSED_SHOWN:
                say(f"{record.path}, line {record.line}: {record.error}")
            if refused == REFUSED_SHOWN:
                say("More malformed records are counted, and not shown.")

        def joined() -> None:
            bars.update(reading, completed=total)
            if not bars.tasks[comparing].started:
                bars.start_task(comparing)
            bars.advance(comparing)

        yield Told(
            refused=refuse,
            resumed=lambda count: say(
                f"Going on with the work in {folder}: {counted(count, 'document', 'documents')} done."
            ),
            read=lambda count: bars.update(reading, completed=count),
            joined=joined,
        )


def _print(summary: Summary, asked: Asked, outputs: Outputs) -> None:
    scheme = asked.scheme
    found = float(candidate_probability(np.array([asked.least]), scheme.bands, scheme.rows)[0])
    said = [
        (
            f"{counted(summary.documents, 'document', 'documents')}: {summary.kept:,} kept, {summary.copies:,} exact copies, "
            f"{summary.near_copies:,} near-duplicates, {counted(summary.groups, 'group', 'groups')}"
        ),
        (
            f"Shingles of {scheme.width} {scheme.unit}; {scheme.bands} bands of {scheme.rows} rows, which find "
            f"{found:.2%} of the pairs of similarity {asked.least:g}"
        ),
    ]
    if summary.malformed:
        said.append(f"{counted(summary.malformed, 'malformed record', 'malformed records')} left out")
    if summary.empty:
        said.append(f"{counted(summary.empty, 'document', 'documents')} without text, which are compared with none")
    if summary.pairs is not None:
        said.append(f"{counted(summary.pairs, 'pair', 'pairs')}: {outputs.pairs}")
    if outputs == Outputs():
        said.append("Nothing is written: ask for --pairs, --groups or --out.")
    for line in said:
        click.echo(line, err="-" in {str(path) for path in (outputs.pairs, outputs.groups, outputs.kept)})
