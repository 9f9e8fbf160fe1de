"""The picture of S-curves: theory as lines, and a sample as points."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pipeline.corpus.measure import Choice, Sample
from pipeline.pictures import new_figure, save
from pipeline.similarity.curve import candidate_probability


def draw(choices: Sequence[Choice], similarity: float | None, sample: Sample | None, path: Path) -> None:
    """Write the picture in the format of the file's suffix. Raises PictureError."""
    figure = new_figure(8, 5)
    curves = figure.subplots()
    axis = np.linspace(0, 1, 401)
    for number, choice in enumerate(choices):
        (line,) = curves.plot(
            axis, candidate_probability(axis, *choice), label=f"{choice.bands} bands x {choice.rows} rows"
        )
        if sample is not None:
            ranges = sample.ranges(number, choice)
            middles = [(each.low + each.high) / 2 for each in ranges]
            shares = [each.found / each.pairs for each in ranges]
            curves.plot(
                middles, shares, "o", color=line.get_color(), markersize=4, label=f"{choice}: pairs of the sample"
            )
    if similarity is not None:
        curves.axvline(similarity, color="#888888", linestyle=":", label=f"similarity {similarity:g}")
    curves.set_xlabel("Jaccard similarity")
    curves.set_ylabel("probability to be a candidate")
    curves.set_xlim(0, 1)
    curves.set_ylim(0, 1.02)
    curves.grid(visible=True, color="#dddddd")
    if sample is not None:
        curves.set_title(f"{sample.documents:,} documents, {len(sample.similarities):,} pairs")
    figure.legend(fontsize=8, loc="outside lower center", ncols=2)
    save(figure, path)
