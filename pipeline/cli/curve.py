"""`newsburst curve`: how likely bands and rows find a pair, by its similarity."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np

from pipeline.cli.documents import chosen_bands, document_options, sources_of
from pipeline.cli.output import STORIES, counted, print_json, print_rows
from pipeline.corpus.dedupe import default_width
from pipeline.corpus.documents import Fields
from pipeline.corpus.measure import Choice, Sample, first_texts, measure
from pipeline.corpus.picture import draw
from pipeline.corpus.records import Format
from pipeline.pictures import FORMATS, check_drawing
from pipeline.similarity.curve import candidate_probability, expected_errors
from pipeline.similarity.shingles import Unit
from pipeline.similarity.universal import ROWS

MOST = 1_000
"""Documents of a sample, unless somebody says otherwise."""
LEVELS = "▁▂▃▄▅▆▇█"
COLUMNS = 40
"""Signs of a curve that is drawn as text."""


class BandsByRows(click.ParamType):
    """Bands and rows such as 20x5."""

    name = "BANDSxROWS"

    def convert(self, value: str | Choice, param: click.Parameter | None, ctx: click.Context | None) -> Choice:
        """As numbers."""
        if isinstance(value, Choice):
            return value
        bands, by, rows = value.lower().partition("x")
        if not (by and bands.isdecimal() and rows.isdecimal() and 0 < int(bands) * int(rows) <= 100_000):
            self.fail(f"{value!r} is no bands and rows, such as 20x5.", param, ctx)
        return Choice(int(bands), int(rows))


@click.command("curve")
@click.argument("choices", nargs=-1, type=BandsByRows(), metavar="BANDSxROWS...")
@click.option("--similarity", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.8, show_default=True,
              help="Similarity from which pairs are wanted.")  # fmt: skip
@click.option("--recall", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.99, show_default=True,
              help="Probability to find a pair of just that similarity, if no BANDSxROWS are given.")  # fmt: skip
@click.option("--size", type=click.IntRange(1, 100_000), default=ROWS, show_default=True,
              help="Most rows of a signature, if no BANDSxROWS are given.")  # fmt: skip
@click.option("--sample", type=STORIES, help="File of documents to measure on, as `newsburst dedupe` reads it.")
@click.option("--documents", type=click.IntRange(2, 5_000), default=MOST, show_default=True,
              help="Documents of the sample: the first ones.")  # fmt: skip
@document_options
@click.option("--picture", type=click.Path(dir_okay=False, path_type=Path), multiple=True,
              help="File for a picture, .svg or .png; may be repeated.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of tables.")
def curve_command(
    choices: tuple[Choice, ...],
    similarity: float,
    recall: float,
    size: int,
    sample: str | None,
    documents: int,
    words: bool,
    width: int | None,
    form: Format | None,
    text: tuple[str, ...],
    identity: str,
    encoding: str,
    picture: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Print the S-curves of bands and rows: how likely a pair becomes a candidate, by its similarity.

    Several choices are put side by side. With a sample, all its pairs are compared, and what was found stands beside what the
    curve says.

    \b
    Example: newsburst curve 20x5 10x10 --picture curve.svg
    """  # noqa: D301 - \b is click's mark for lines to keep
    for path in picture:
        if path.suffix not in FORMATS:
            raise click.BadParameter(f"{str(path)!r} should end in .svg or .png.", param_hint="--picture")
    if picture:
        check_drawing("leave --picture out")
    if not choices:
        choices = (Choice(*chosen_bands(similarity, recall, size)),)
    choices = tuple(dict.fromkeys(choices))
    measured = None
    if sample is not None:
        unit: Unit = "words" if words else "characters"
        fields = Fields(identity, text)
        with sources_of((sample,), form, encoding) as (sources, _):
            width = width or default_width(sources, fields, unit)
            measured = measure(first_texts(sources, fields, documents), unit, width, choices)
    for path in picture:
        draw(choices, similarity, measured, path)
    if as_json:
        print_json([_described(number, choice, similarity, measured) for number, choice in enumerate(choices)])
    else:
        _print(choices, similarity, measured)
        if picture:
            click.echo(f"Picture: {', '.join(map(str, picture))}")


def _described(number: int, choice: Choice, similarity: float, sample: Sample | None) -> dict[str, Any]:
    false, missed = expected_errors(similarity, *choice)
    axis = np.round(np.linspace(0, 1, 21), 2)
    points = zip(axis.tolist(), candidate_probability(axis, *choice).tolist(), strict=True)
    described: dict[str, Any] = {
        "bands": choice.bands,
        "rows": choice.rows,
        "similarity": similarity,
        "probability": float(candidate_probability(np.array([similarity]), *choice)[0]),
        "false_positives": false,
        "false_negatives": missed,
        "curve": [{"similarity": at, "probability": value} for at, value in points],
    }
    if sample is not None:
        found, wanted = sample.recall(number, similarity)
        described["sample"] = {
            "documents": sample.documents,
            "pairs": len(sample.similarities),
            "wanted": wanted,
            "found": found,
            "candidates": int(sample.candidates[number].sum()),
            "ranges": msgspec.to_builtins(sample.ranges(number, choice)),
        }
    return described


def _print(choices: tuple[Choice, ...], similarity: float, sample: Sample | None) -> None:
    levels = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
    rows = [
        {"similarity": f"{level:g}"}
        | {str(choice): _share(float(candidate_probability(np.array([level]), *choice)[0])) for choice in choices}
        for level in levels
    ]
    print_rows(rows, ["similarity", *dict.fromkeys(map(str, choices))], "Probability to be a candidate")
    for number, choice in enumerate(choices):
        false, missed = expected_errors(similarity, *choice)
        click.echo(f"\n{choice}  0 {_drawn(choice)} 1")
        click.echo(f"  If all similarities are equally common, of the pairs below {similarity:g}")
        click.echo(f"  {_share(false)} become candidates, and {_share(missed)} of the others do not.")
        if sample is not None:
            _print_sample(number, choice, similarity, sample)


def _print_sample(number: int, choice: Choice, similarity: float, sample: Sample) -> None:
    found, wanted = sample.recall(number, similarity)
    candidates = int(sample.candidates[number].sum())
    click.echo(f"  Sample: {sample.documents:,} documents, {counted(len(sample.similarities), 'pair', 'pairs')},")
    click.echo(
        f"  {counted(candidates, 'candidate', 'candidates')}; of {wanted:,} pairs from {similarity:g} on {found:,} are found."
    )
    ranges = [
        {
            "from": f"{of.low:.2f}",
            "to": f"{of.high:.2f}",
            "pairs": of.pairs,
            "found": of.found,
            "expected": round(of.expected, 1),
        }
        for of in sample.ranges(number, choice)
    ]
    if ranges:
        print_rows(ranges, list(ranges[0]), f"{choice}: pairs by similarity")


def _share(value: float) -> str:
    """A probability in per cent. What is neither 0 nor 1 is not shown as such."""
    for places in (2, 4):
        text = f"{100 * value:.{places}f}"
        if 0.0 < float(text) < 100.0 or value in {0.0, 1.0}:
            return f"{text} %"
    return "below 0.0001 %" if value < 0.5 else "above 99.9999 %"


def _drawn(choice: Choice) -> str:
    edges = np.linspace(0, 1, COLUMNS + 1).tolist()
    middles = np.array([(low + high) / 2 for low, high in pairwise(edges)])
    heights = (candidate_probability(middles, *choice) * (len(LEVELS) - 1)).round().astype(int)
    return "".join(LEVELS[height] for height in heights.tolist())
