"""The picture of a tuning: S-curves over the similarities that the sample has. Needs matplotlib, the extra `plot`."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from pipeline.evaluation.tune import Similarities, Tuning
from pipeline.similarity.curve import candidate_probability


class PictureError(RuntimeError):
    """The picture cannot be drawn; the message says what to do."""


def check_drawing() -> None:
    """Raises PictureError where nothing can be drawn: to be asked before a minute's work."""
    if find_spec("matplotlib") is None:
        raise PictureError(
            'The picture needs matplotlib: pip install "newsburst[plot]", or ask for none with --no-picture.'
        )


def draw(tuning: Tuning, found: Similarities, path: Path) -> None:
    """Write the picture in the format of the file's suffix: .svg or .png. Raises PictureError."""
    check_drawing()
    import matplotlib as mpl  # noqa: PLC0415 - an extra
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    mpl.rcParams["svg.hashsalt"] = "newsburst"
    figure = Figure(figsize=(9, 5.5), layout="constrained")
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
    try:
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except (OSError, ValueError) as error:
        raise PictureError(f"Cannot write {path}: {error}.") from None
