"""`scripts/bench [NAME...] [--quick] [--json FILE]`: the figures, as a table and as JSON."""

import argparse
import gc
import importlib
import os
import sys
from pathlib import Path

import psutil

from agents.worker import GC_THRESHOLDS
from bench.figures import Figure, table, write

ALONE = ("minhash", "lsh", "simhash", "path", "text")
"""What is measured on one core, as its peers are: one thread each."""
NAMES = (*ALONE, "stream", "growth")
BY_NAME = ("scale", "reports", "web", "takeover", "corpus")
"""What is measured only if it is asked for."""


def main() -> None:
    """Measure what is asked for. Exits with 0 even when a row misses its target: it says so."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"any of {', '.join(NAMES)}; all these if none; {', '.join(BY_NAME)}"
    )
    parser.add_argument("--quick", action="store_true", help="smaller loads, under 3 minutes in all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    asked = parser.parse_args()
    known = NAMES + BY_NAME
    if wrong := [name for name in asked.names if name not in known]:
        parser.error(f"no benchmark is called {', '.join(wrong)}; there are {', '.join(known)}")
    gc.set_threshold(*GC_THRESHOLDS)
    os.environ["RAYON_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    found: list[Figure] = []
    cores = psutil.Process().cpu_affinity()
    for name in asked.names or NAMES:
        psutil.Process().cpu_affinity(cores[-1:] if name in ALONE else cores)
        for figure in importlib.import_module(f"bench.{name}").figures(quick=asked.quick):
            print(f"{figure.work}: {figure.ratio:.3g} ({figure.target})", file=sys.stderr, flush=True)
            found.append(figure)
        gc.collect()
    print(table(found))
    missed = [figure.work for figure in found if not figure.holds]
    print(
        f"\n{len(found) - len(missed)} of {len(found)} rows reach their target.",
        *(f"Missed: {work}." for work in missed),
    )
    if asked.json:
        write(found, asked.json)


if __name__ == "__main__":
    main()
