"""The picture of a tuning: S-curves over the similarities that the sample has."""

from pathlib import Path

import numpy as np

from pipeline.evaluation.tune import Similarities, Tuning
from pipeline.pictures import new_figure, save
from pipeline.similarity.curve import candidate_probability


def draw(tuning: Tuning, found: Similarities, path: Path) -> None:
    """Write the picture in the format of the file's suffix: .svg or .png. Raises PictureError."""
    figure = new_figure(9, 5.5)
    curves = figure.subplots()
    pairs = curves.twinx()
    edges = np.linspace(0, 1, 41).tolist()
    for values, label, colour in ((found.other, "other clusters", "#c9ccd1"), (found.same, "one cluster", "#8fb8de")):
        if len(values):
            pairs.hist(values, edges, label=f"pairs of {label}", color=colour, alpha=0.8)
    pairs.set_yscale("log")
    pairs.set_ylabel("pairs of the sample")
    axis = np.linspace(0, 1, 201)
    for row in tuning.choices:
        best = row == tuning.recommended
        curves.plot(
            axis,
            candidate_probability(axis, row.bands, row.rows),
            label=f"{row.bands} x {row.rows}: recall {row.recall:.3f}, {row.false_candidates:.0f} false candidates",
            linewidth=3 if best else 1.2,
            zorder=3 if best else 2,
        )
    curves.set_xlabel("Jaccard similarity")
    curves.set_ylabel("probability to be a candidate")
    curves.set_title(f"Bands x rows for {tuning.stories} stories; thick: recommended for recall {tuning.wanted_recall}")
    curves.set_zorder(pairs.get_zorder() + 1)
    curves.patch.set_visible(False)
    lines, names = curves.get_legend_handles_labels()
    bars, bar_names = pairs.get_legend_handles_labels()
    figure.legend(lines + bars, names + bar_names, fontsize=8, loc="outside lower center", ncols=2)
    save(figure, path)
