"""Pictures as files, .svg or .png. They need matplotlib, the extra `plot`."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

FORMATS = frozenset({".svg", ".png"})


class PictureError(RuntimeError):
    """The picture cannot be drawn; the message says what to do."""


def check_drawing(otherwise: str) -> None:
    """Raises PictureError where nothing can be drawn: to be asked before a minute's work. It says what to do `otherwise`."""
    if find_spec("matplotlib") is None:
        raise PictureError(f'The picture needs matplotlib: pip install "newsburst[plot]", or {otherwise}.')


def new_figure(width: float, height: float) -> Any:
    """An empty figure of matplotlib, in inches."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    mpl.rcParams["svg.hashsalt"] = "newsburst"
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Any, path: Path) -> None:
    """Write a figure in the format of the file's suffix; the same figure gives the same file. Raises PictureError."""
    try:
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except (OSError, ValueError) as error:
        raise PictureError(f"Cannot write {path}: {error}.") from None
