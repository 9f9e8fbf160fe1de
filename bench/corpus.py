"""`newsburst dedupe` on files: against datasketch, rensa and text-dedup's method, each as a program on all processors.

All read the same file and write the pairs of at least .8 exact Jaccard similarity. The recall of each is counted against what a
run of ours finds that misses such a pair with a probability below one in a million.
"""

import gzip
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import psutil

from bench.corpus_peers import PEERS
from bench.figures import Figure, absolute, figure
from bench.news import SAMPLE

WEEK = Path(__file__).parents[2] / "shared" / "data" / "uci_tuning_week.jsonl.gz"
"""Headlines to make documents of; the sample that ships where it is absent."""
THRESHOLD = 0.8
SHORT, LONG, MANY = 1_000_000, 50_000, 10_000_000
SHORT_WIDTH, LONG_WIDTH = 5, 9
EDITED = 0.25
"""Share of documents that are earlier ones with words changed."""
RECENT = 5_000
LIMIT_GIB = 4.0


def figures(*, quick: bool) -> Iterable[Figure]:
    """Seconds and recall for short and long documents; memory for ten million short ones."""
    small = 20 if quick else 1
    with tempfile.TemporaryDirectory(prefix="newsburst-bench-") as name:
        folder = Path(name)
        for kind, count, width, words in (
            ("headlines", SHORT // small, SHORT_WIDTH, 0),
            ("texts of 200 words", LONG // small, LONG_WIDTH, 200),
        ):
            path = folder / f"{kind}.jsonl"
            make(path, count, words)
            yield from _beside_peers(folder, f"{count:,} {kind}", path, width)
        path = folder / "many.jsonl"
        make(path, MANY // small, 0)
        seconds, peak = run(ours(path, folder / "groups.jsonl", SHORT_WIDTH, "--groups"), folder)
        work = f"dedupe to groups, {MANY // small:,} headlines"
        yield absolute(f"{work}: memory at most", f"{LIMIT_GIB:g} GiB", [peak / 2**30], LIMIT_GIB, "GiB")
        yield absolute(f"{work}: time", "an hour", [seconds], 3_600, "s")


def _beside_peers(folder: Path, of: str, path: Path, width: int) -> Iterable[Figure]:
    run(ours(path, folder / "truth", width, "--pairs", "--bands", "30", "--rows", "4"), folder)
    truth = _pairs(folder / "truth")
    seconds, peak = run(ours(path, folder / "ours", width, "--pairs"), folder)
    found = len(_pairs(folder / "ours") & truth) / len(truth)
    for peer in PEERS:
        theirs, their_peak = run(
            [
                sys.executable,
                "-m",
                "bench.corpus_peers",
                peer,
                str(path),
                str(folder / "theirs"),
                str(width),
                str(THRESHOLD),
            ],
            folder,
        )
        their_pairs = _pairs(folder / "theirs")
        their_recall = len(their_pairs & truth) / len(truth)
        if more := their_pairs - truth:
            raise RuntimeError(f"{peer} found {len(more)} pairs that the careful run had missed, such as {min(more)}.")
        yield figure(f"dedupe, {of}: time", peer, [seconds], [theirs], "s", seconds / theirs, 1.0, at_most=True)
        yield figure(
            f"dedupe, {of}: recall", peer, [found], [their_recall], "of pairs", found / their_recall, 1.0, at_most=False
        )
        yield figure(
            f"dedupe, {of}: memory",
            peer,
            [peak / 2**30],
            [their_peak / 2**30],
            "GiB",
            peak / their_peak,
            1.0,
            at_most=True,
        )


def ours(path: Path, out: Path, width: int, kind: str, *more: str) -> list[str]:
    """Our command."""
    arguments = [str(path), kind, str(out), "--similarity", str(THRESHOLD), "--width", str(width), *more]
    return [sys.executable, "-m", "pipeline.command", "dedupe", *arguments]


def run(command: list[str], folder: Path) -> tuple[float, int]:
    """Run a program; returns its seconds, and the most bytes that it and its processes held together."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    environment.pop("RAYON_NUM_THREADS", None)
    begin = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    peaks = [0]

    def watch() -> None:
        while process.poll() is None:
            peaks.append(_bytes(psutil.Process(process.pid)))
            time.sleep(0.2)

    thread = Thread(target=watch)
    thread.start()
    _, said = process.communicate()
    seconds = time.perf_counter() - begin
    thread.join()
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}: {said.decode()[-2_000:]}")
    return seconds, max(peaks)


def _bytes(process: psutil.Process) -> int:
    total = 0
    try:
        for each in [process, *process.children(recursive=True)]:
            total += each.memory_info().rss
    except psutil.Error:
        return 0
    return total


def _pairs(path: Path) -> set[tuple[Any, Any]]:
    with path.open("rb") as file:
        return {(row["a"], row["b"]) for row in map(msgspec.json.decode, file)}


def make(path: Path, count: int, words: int) -> None:
    """Documents from headlines: half of their words exchanged, or strung together to so many words; some are edited copies."""
    choose = random.Random(7)
    with gzip.open(WEEK if WEEK.exists() else SAMPLE) as file:
        titles: list[str] = [msgspec.json.decode(line)["title"] for line in file]
    vocabulary = [word for title in titles for word in title.split()]
    recent: list[str] = []
    with path.open("wb") as out:
        for number in range(count):
            if recent and choose.random() < EDITED:
                text = _edited(choose.choice(recent).split(), vocabulary, choose)
            elif words:
                text = " ".join(choose.choices(titles, k=words // 9))
            else:
                parts = choose.choice(titles).split()
                for place in choose.sample(range(len(parts)), len(parts) // 2):
                    parts[place] = choose.choice(vocabulary)
                text = " ".join(parts)
            recent.append(text)
            if len(recent) > RECENT:
                recent[choose.randrange(RECENT)] = recent.pop()
            out.write(msgspec.json.encode({"id": f"d{number}", "text": text}) + b"\n")


def _edited(parts: list[str], vocabulary: list[str], choose: random.Random) -> str:
    for _ in range(choose.choice((0, 1, 1, 2, 3)) * max(1, len(parts) // 40)):
        place, kind = choose.randrange(len(parts)), choose.random()
        if kind < 0.4:
            parts[place] = choose.choice(vocabulary)
        elif kind < 0.7:
            parts.insert(place, choose.choice(vocabulary))
        elif len(parts) > 3:
            del parts[place]
    return " ".join(parts)
