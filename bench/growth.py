"""Growth: what a story costs, and takes in memory, as more and more are in the window. Draws docs/growth.svg."""

import gc
import os
import statistics
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context

import psutil

from agents.worker import GC_THRESHOLDS
from bench.figures import Figure, absolute, figure
from bench.news import RECEIVED, ROOT, many
from pipeline.codec import decode, encode
from pipeline.languages.background import background
from pipeline.records import Assignment
from pipeline.replay import fingerprints, warm_up
from pipeline.stages.cluster.stage import cluster
from pipeline.stages.cluster.state import ClusterState
from pipeline.stages.detect.stage import detect
from pipeline.stages.detect.state import DetectState
from pipeline.stages.rules import ClusterRule, DetectRule
from pipeline.stages.weights import shipped

FIRST, STEP = 10_000, 1_000
PICTURE = ROOT / "docs" / "growth.svg"
MOST_BYTES = 1_536


def figures(*, quick: bool) -> Iterable[Figure]:
    """The stages that keep state, with up to a million stories in the window."""
    count = 60_000 if quick else 1_000_000
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:  # what other benchmarks have freed would be used again
        points, costs = alone.submit(_fill, count).result()
    early = costs[FIRST // STEP - 5 : FIRST // STEP + 5]
    late = costs[-10:]
    ratio = statistics.median(late) / statistics.median(early)
    work = f"growth: cost of a story with {count:,} in the window"
    yield figure(work, f"ours with {FIRST:,}", late, early, "us", ratio, 2.0, at_most=True)
    yield absolute(
        f"memory of the stages, {count:,} stories in the window",
        "the limit",
        [points[-1][2]],
        MOST_BYTES,
        "bytes a story",
    )
    if not quick:
        _draw(points)


def _fill(count: int) -> tuple[list[tuple[int, float, float]], list[float]]:
    """Put so many stories into the window.

    Returns (stories, microseconds a story, bytes a story) every FIRST stories, and the microseconds every STEP.
    """
    gc.set_threshold(*GC_THRESHOLDS)
    warm_up(ClusterRule(), DetectRule(), shipped())
    gc.collect()
    own = psutil.Process(os.getpid())
    empty = own.memory_info().rss
    points: list[tuple[int, float, float]] = []
    costs: list[float] = []
    cluster_states, detect_states = ClusterState(background("en")), DetectState()
    source = fingerprints(many(count), RECEIVED)
    for done in range(STEP, count + 1, STEP):
        made = list(islice(source, STEP))  # beforehand: that is not what is measured
        start = time.perf_counter()
        for position, story in made:
            clustered = cluster(cluster_states, story, position)
            assert clustered is not None
            row = decode(encode(clustered.assignment), Assignment)  # as in a worker, the stages share nothing
            detect(detect_states, row)
        costs.append((time.perf_counter() - start) / STEP * 1e6)
        if done % FIRST == 0:
            points.append((done, statistics.median(costs[-10:]), (own.memory_info().rss - empty) / done))
    return points, costs


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
