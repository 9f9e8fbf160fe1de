"""Figures: what was measured, beside what, and whether that reaches the target."""

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

Measure = Callable[[], float]
"""Does the work once and returns its cost."""


class Figure(msgspec.Struct):
    """One row of the table: medians of the rounds, and the median of the ratios round by round."""

    work: str
    against: str
    ours: float
    theirs: float
    unit: str
    ratio: float
    """ours / theirs"""
    target: str
    holds: bool
    ours_range: list[float]
    theirs_range: list[float]
    rounds: int


def compare(
    work: str,
    against: str,
    ours: Measure,
    theirs: Measure | Mapping[str, Measure],
    *,
    unit: str,
    target: float,
    rounds: int = 5,
    at_most: bool = True,
) -> Figure:
    """Measure both in turn, so that a machine whose speed drifts is as fast for one as for the other.

    The target is for the ratio ours / theirs: to be at most that, or at least. Where the peer has several ways, by name, each
    is measured in every round, and the one that is best over all rounds is the peer.
    """
    ways = theirs if isinstance(theirs, Mapping) else {"": theirs}
    own: list[float] = []
    others: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        own.append(ours())
        for name, way in ways.items():
            others[name].append(way())
    best = (min if at_most else max)(others, key=lambda name: statistics.median(others[name]))
    ratio = statistics.median(one / two for one, two in zip(own, others[best], strict=True))
    return figure(
        work, f"{against} ({best})" if best else against, own, others[best], unit, ratio, target, at_most=at_most
    )


def absolute(
    work: str, against: str, costs: Sequence[float], limit: float, unit: str, *, at_most: bool = True
) -> Figure:
    """A figure that is held against a number: ours / that number is to be at most 1, or at least."""
    return figure(work, against, costs, [limit], unit, statistics.median(costs) / limit, 1.0, at_most=at_most)


def figure(
    work: str,
    against: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    unit: str,
    ratio: float,
    target: float,
    *,
    at_most: bool,
) -> Figure:
    """The row of these rounds."""
    return Figure(
        work=work,
        against=against,
        ours=_short(statistics.median(ours)),
        theirs=_short(statistics.median(theirs)),
        unit=unit,
        ratio=_short(ratio),
        target=f"{'<=' if at_most else '>='} {target:g}",
        holds=ratio <= target if at_most else ratio >= target,
        ours_range=[_short(min(ours)), _short(max(ours))],
        theirs_range=[_short(min(theirs)), _short(max(theirs))],
        rounds=len(ours),
    )


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def timed(work: Callable[[], object], items: int) -> Measure:
    """A measure: microseconds of processor time, of all threads, that the work takes for each of so many items."""

    def measure() -> float:
        start = time.process_time()
        work()
        return (time.process_time() - start) / items * 1e6

    return measure


def table(figures: Sequence[Figure]) -> str:
    """The figures for people, as Markdown."""
    lines = ["| work | against | ours | theirs | unit | ratio | target | holds |", "|---|---|---|---|---|---|---|---|"]
    for row in figures:
        ours, theirs = (
            f"{middle:g} ({low:g}-{high:g})" if high > low else f"{middle:g}"
            for middle, (low, high) in ((row.ours, row.ours_range), (row.theirs, row.theirs_range))
        )
        verdict = "yes" if row.holds else "**no**"
        lines.append(
            f"| {row.work} | {row.against} | {ours} | {theirs} | {row.unit} | {row.ratio:.3g} | {row.target} | {verdict} |"
        )
    return "\n".join(lines)


def write(figures: Sequence[Figure], path: Path) -> None:
    """The figures as JSON."""
    path.write_text(json.dumps(msgspec.to_builtins(list(figures)), indent=1) + "\n", encoding="utf-8")
