"""Growth: what a story costs, and takes in memory, as more and more are in the window. Draws docs/growth.svg."""

import gc
import os
import resource
import statistics
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from typing import NamedTuple

import psutil

from agents.worker import GC_THRESHOLDS
from bench.figures import Figure, absolute, figure
from bench.news import RECEIVED, ROOT, many
from pipeline.codec import decode, encode
from pipeline.languages.background import background
from pipeline.records import Assignment, Fingerprint
from pipeline.replay import fingerprints
from pipeline.stages.cluster.stage import cluster
from pipeline.stages.cluster.state import ClusterState
from pipeline.stages.detect.stage import detect
from pipeline.stages.detect.state import DetectState
from pipeline.stages.rules import ClusterRule, DetectRule
from pipeline.stages.weights import shipped
from pipeline.warm_up import warm_up

FIRST, STEP = 10_000, 1_000
ROUNDS = 9
PICTURE = ROOT / "docs" / "growth.svg"
MOST_BYTES = 1_536


class Growth(NamedTuple):
    """What filling a window shows."""

    points: list[tuple[int, float, float]]
    """stories in the window, microseconds a story, bytes a story; every FIRST stories"""
    large: list[float]
    """microseconds a story in the full window ..."""
    small: list[float]
    """... and in turn with them, in one of FIRST stories"""
    peak: float
    """bytes a story, at the most, while the tables grew"""


def figures(*, quick: bool) -> Iterable[Figure]:
    """The stages that keep state, with up to a million stories in the window."""
    count = 60_000 if quick else 1_000_000
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:  # what other benchmarks have freed would be used again
        found = alone.submit(_fill, count).result()
    ratio = statistics.median(one / two for one, two in zip(found.large, found.small, strict=True))
    work = f"growth: cost of a story with {count:,} in the window"
    yield figure(
        work, f"ours with {FIRST:,}", found.large, found.small, "us", ratio, 1.5 if quick else 2.0, at_most=True
    )
    work = f"memory of the stages, {count:,} stories in the window"
    limit = MOST_BYTES * (2 if quick else 1)  # tables have a smallest size
    yield absolute(f"{work}, at rest", "the limit", [found.points[-1][2]], limit, "bytes a story")
    yield absolute(f"{work}, at the peak of growing", "twice the limit", [found.peak], 2 * limit, "bytes a story")
    if not quick:
        _draw(found.points)


def _fill(count: int) -> Growth:
    """Put so many stories into a window."""
    gc.set_threshold(*GC_THRESHOLDS)
    warm_up(ClusterRule(), DetectRule(), shipped())
    gc.collect()
    own = psutil.Process(os.getpid())
    empty = own.memory_info().rss
    points: list[tuple[int, float, float]] = []
    costs: list[float] = []
    source = fingerprints(many(count + ROUNDS * STEP), RECEIVED)
    window = Window()
    for done in range(STEP, count + 1, STEP):
        costs.append(window.take([*islice(source, STEP)]))  # made beforehand: that is not what is measured
        if done % FIRST == 0:
            points.append((done, statistics.median(costs[-10:]), (own.memory_info().rss - empty) / done))
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - empty) / count
    few = [*fingerprints(many(FIRST + STEP), RECEIVED)]
    large, small = [], []
    for _ in range(ROUNDS):
        fresh = Window()
        fresh.take(few[:FIRST])
        small.append(fresh.take(few[FIRST:]))
        large.append(window.take([*islice(source, STEP)]))
    return Growth(points, large, small, peak)


class Window:
    """The state of both stages for one edition."""

    def __init__(self) -> None:
        self._clusters, self._events = ClusterState(background("en")), DetectState()

    def take(self, stories: Sequence[tuple[int, Fingerprint]]) -> float:
        """Take these in; returns microseconds a story."""
        start = time.process_time()
        for position, story in stories:
            clustered = cluster(self._clusters, story, position)
            assert clustered is not None
            row = decode(encode(clustered.assignment), Assignment)  # as in a worker, the stages share nothing
            detect(self._events, row)
        return (time.process_time() - start) / len(stories) * 1e6


def _draw(points: list[tuple[int, float, float]]) -> None:
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=(7, 3.2), layout="constrained")
    left, right = drawing.subplots(1, 2)
    stories = [point[0] / 1_000 for point in points]
    left.plot(stories, [point[1] for point in points], color="#1f4e79")
    left.set(xlabel="thousand stories in the window", ylabel="us a story", ylim=(0, None), title="Cost")
    right.plot(stories, [point[2] / 1_000 for point in points], color="#a33b20")
    right.set(
        xlabel="thousand stories in the window", ylabel="kB a story", ylim=(0, None), title="Memory of the stages"
    )
    for part in (left, right):
        part.grid(alpha=0.3)
    drawing.savefig(PICTURE, metadata={"Date": None})
