"""`newsburst dedupe`: the near-duplicates in files of documents."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import click
import msgspec
import numpy as np

from pipeline.cli.documents import Bytes, chosen_bands, document_options, progress, sources_of, work_folder
from pipeline.cli.output import STORIES, counted, print_json
from pipeline.codec import InvalidRecord
from pipeline.corpus.dedupe import Asked, Outputs, Summary, check_outputs, dedupe, default_width
from pipeline.corpus.documents import Fields
from pipeline.corpus.groups import Keep
from pipeline.corpus.records import Format
from pipeline.corpus.work import working
from pipeline.similarity.curve import candidate_probability
from pipeline.similarity.shingles import Unit
from pipeline.similarity.sign_texts import Scheme
from pipeline.similarity.universal import ROWS

OUTPUT = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


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
    "--size", type=click.IntRange(1, 4_096), default=ROWS, show_default=True, help="Most rows of a signature."
)
@click.option("--bands", type=click.IntRange(1, 4_096), help="Bands, in the place of --recall.")
@click.option("--rows", type=click.IntRange(1, 4_096), help="Rows of a band; default: --size / --bands.")
@document_options
@click.option(
    "--estimate", is_flag=True, help="Take the share of equal rows for the similarity, without looking at texts."
)
@click.option("--keep", type=click.Choice(["first", "last", "longest"]), default="first", show_default=True,
              help="Which document stands for its group.")  # fmt: skip
@click.option("--strict", is_flag=True, help="End at the first malformed record.")
@click.option(
    "--memory", type=Bytes(), default="2g", show_default=True, help="Memory to use; more is kept on the disk."
)
@click.option("--jobs", type=click.IntRange(1, 256), help="Processes. Default: one for each processor.")
@click.option("--work", type=click.Path(file_okay=False, path_type=Path), help=(
    "Folder for what is done so far. Default: one in the current folder, named after the run; deleted at the end."))  # fmt: skip
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
    unit: Unit = "words" if words else "characters"
    bands, rows = _bands_and_rows(similarity, recall, size, bands, rows)
    fields = Fields(identity, text)
    with ExitStack() as stack:
        sources, own = stack.enter_context(sources_of(files, form, encoding))
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
        outputs = Outputs(pairs=pairs, groups=groups, kept=out)
        check_outputs(sources, outputs)
        plan = asked.plan(every=pairs is not None)
        folder = work or work_folder("dedupe", plan, own)
        of = stack.enter_context(working(folder, plan))
        told = stack.enter_context(progress(sources, folder, "comparing", bands))
        try:
            summary = dedupe(of, asked, outputs, memory=memory, jobs=jobs or len(os.sched_getaffinity(0)), tell=told)
        except InvalidRecord:  # the file will be another one when the command is given again
            of.clear()
            raise
        except KeyboardInterrupt:
            click.echo("Stopped. The same command goes on where it was.", err=True)
            raise
        of.clear()
    if as_json:
        print_json(msgspec.to_builtins(summary) | {"scheme": msgspec.to_builtins(asked.scheme)})
    else:
        _print(summary, asked, outputs)


def _bands_and_rows(
    similarity: float, recall: float, size: int, bands: int | None, rows: int | None
) -> tuple[int, int]:
    if bands is None:
        if rows is not None:
            raise click.UsageError("--rows needs --bands.")
        return chosen_bands(similarity, recall, size)
    rows = rows or size // bands
    if not rows:
        raise click.UsageError(f"{bands} bands need at least as many rows; --size is {size}.")
    return bands, rows


def _print(summary: Summary, asked: Asked, outputs: Outputs) -> None:
    scheme = asked.scheme
    found = float(candidate_probability(np.array([asked.least]), scheme.bands, scheme.rows)[0])
    said = [
        (
            f"{counted(summary.documents, 'document', 'documents')}: {summary.kept:,} kept, {summary.copies:,} exact copies, "
            f"{summary.near_copies:,} near-duplicates, {counted(summary.groups, 'group', 'groups')}"
        ),
        (
            f"Shingles of {scheme.width} {scheme.unit}; {counted(scheme.bands, 'band', 'bands')} of "
            f"{counted(scheme.rows, 'row', 'rows')}, which find "
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
