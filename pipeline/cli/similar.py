"""`newsburst similar`: which documents of an archive are similar to a text."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from pipeline.cli.documents import Bytes, chosen_bands, document_options, progress, sources_of, work_folder
from pipeline.cli.output import STORIES, counted, print_json, print_rows
from pipeline.codec import InvalidRecord
from pipeline.corpus.collection import collect
from pipeline.corpus.dedupe import default_width, plan_of, sign_all
from pipeline.corpus.documents import Fields, parser
from pipeline.corpus.index import Index, build, is_index, load
from pipeline.corpus.records import Format, records
from pipeline.corpus.work import working
from pipeline.printed import shown
from pipeline.similarity.shingles import Unit
from pipeline.similarity.sign_texts import Scheme
from pipeline.similarity.universal import ROWS

LEAST = 0.5
"""Similarity that an index finds, unless somebody says otherwise."""
SHOWN = 80
"""Characters of a text that are shown."""


@click.command("similar")
@click.argument("files", nargs=-1, type=STORIES, metavar="[FILE...]")
@click.option("--index", required=True, type=click.Path(dir_okay=False, path_type=Path), help="File of the index.")
@click.option("--to", help="A text, the id of a document of the index, or a file of documents.")
@click.option("--similarity", type=click.FloatRange(0, 1, min_open=True), default=LEAST, show_default=True,
              help="Least Jaccard similarity.")  # fmt: skip
@click.option("--within", type=click.IntRange(0, 64), metavar="BITS", help=(
    "Documents whose SimHash differs in at most so many bits, all of them, in the place of --similarity."))  # fmt: skip
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="Most documents.")
@click.option("--recall", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.99, show_default=True,
              help="Probability to find a document of just that similarity; when the index is made.")  # fmt: skip
@click.option("--size", type=click.IntRange(1, 4_096), default=ROWS, show_default=True,
              help="Most rows of a signature; when the index is made.")  # fmt: skip
@document_options
@click.option("--memory", type=Bytes(), default="2g", show_default=True, help="Memory to sign with.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Processes. Default: one for each processor.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
def similar_command(
    files: tuple[str, ...],
    index: Path,
    to: str | None,
    similarity: float,
    within: int | None,
    limit: int,
    recall: float,
    size: int,
    words: bool,
    width: int | None,
    form: Format | None,
    text: tuple[str, ...],
    identity: str,
    encoding: str,
    memory: int,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Make an index of files of documents, and find the documents that are similar to a text.

    With FILE... the index is made; with --to it is asked. Documents are ranked by the exact Jaccard similarity of their shingles,
    or, with --within, by the bits in which SimHash fingerprints of their words differ.

    \b
    Example: newsburst similar archive.jsonl.gz --index archive.index
             newsburst similar --index archive.index --to "Earthquake strikes Nepal"
    """  # noqa: D301 - \b is click's mark for lines to keep
    fields = Fields(identity, text)
    if files:
        bands, rows = chosen_bands(similarity, recall, size)
        unit: Unit = "words" if words else "characters"
        _check_index(index, files)
        with sources_of(files, form, encoding) as (sources, own):
            scheme = Scheme(unit, width or default_width(sources, fields, unit), bands, rows, bands * rows)
            plan = plan_of(sources, fields, scheme)
            folder = work_folder("similar", plan, own)
            with (
                working(folder, plan) as work,
                progress(sources, folder, "indexing", 1) as tell,
            ):
                sign_all(
                    work, sources, fields, scheme, memory=memory, jobs=jobs or len(os.sched_getaffinity(0)), tell=tell
                )
                count = build(collect(work, bands, 1), scheme, index)
                work.clear()
        click.echo(f"{counted(count, 'document', 'documents')} in {index}", err=as_json)
    elif to is None:
        raise click.UsageError("Give FILE... to make the index, or --to to ask it.")
    elif words or width:
        raise click.UsageError("--words and --width are chosen when the index is made.")
    if to is None:
        return
    of = load(index)
    answers: list[tuple[str, str, list[dict[str, Any]]]] = []
    for kind, name, asked, own_number in _asked(of, to, fields, form, encoding):
        found = of.similar(asked, similarity, limit + 1) if within is None else of.within(asked, within, limit + 1)
        matches = [match for match in found if match.number != own_number][:limit]
        answers.append((kind, name, [_row(of, *match) for match in matches]))
    if as_json:
        print_json([{"to": name, "similar": rows} for _, name, rows in answers])
        return
    for kind, name, found_rows in answers:
        title = f"Similar to {kind} {shown(name[:SHOWN])}"
        if found_rows:
            print_rows(found_rows, ["similarity", "distance", "id", "text"], title)
        else:
            click.echo(f"{title}: nothing")


def _check_index(index: Path, files: tuple[str, ...]) -> None:
    """An index is never written over a file of documents."""
    if any(path != "-" and Path(path).resolve() == index.resolve() for path in files):
        raise click.UsageError(f"{index} is read, and cannot be written at the same time.")
    if index.is_file() and index.stat().st_size and not is_index(index):
        raise click.UsageError(f"{index} is there, and is no index. Name another file, or delete it.")


def _asked(
    index: Index, to: str, fields: Fields, form: Format | None, encoding: str
) -> Iterator[tuple[str, str, str, int]]:
    """What is asked for: its kind, its name, the text, and the number of the document that it is, -1 if it is none."""
    if to == "-" or Path(to).is_file():
        with sources_of((to,), form, encoding) as (sources, _):
            for source in sources:
                parse = parser(source, fields)
                for record in records(source):
                    try:
                        identity, text = parse(record)
                    except InvalidRecord as wrong:
                        click.echo(shown(f"{to}, line {record.line}: {wrong}"), err=True)
                    else:
                        name = str(msgspec.json.decode(identity)) if identity else f"on line {record.line}"
                        yield "document", name, text, -1
    elif numbers := index.numbers_of(to):
        for number in numbers:
            yield "document", to, index.text(number), number
    elif to.strip():
        yield "the text", to, to, -1
    else:
        raise click.UsageError("--to is empty: give a text, an id or a file.")


def _row(index: Index, number: int, similarity: float, distance: int) -> dict[str, Any]:
    text = index.text(number)
    return {
        "similarity": similarity,
        "distance": distance,
        "id": msgspec.json.decode(index.id(number)),
        "text": text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}...",
    }
