"""Loads pages one after the other until its input ends, and prints what each took: `python -m bench.load_pages ADDRESS`.

A process of its own: what the load itself is busy with is not in the figures.
"""

import json
import sys
import threading
import time
import urllib.request

LOADS_A_SECOND = 4
PATHS = ("/", "/clusters", "/search?q=apple", "/api/events")


def main() -> None:
    """Print milliseconds by path, as JSON."""
    address, ended = sys.argv[1], threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    loads: list[tuple[str, float]] = []
    while not ended.is_set():
        path = PATHS[len(loads) % len(PATHS)]
        start = time.perf_counter()
        with urllib.request.urlopen(address + path, timeout=60) as answer:
            answer.read()
        loads.append((path, (time.perf_counter() - start) * 1_000))
        ended.wait(max(0.0, 1 / LOADS_A_SECOND - (time.perf_counter() - start)))
    json.dump(loads, sys.stdout)


if __name__ == "__main__":
    main()
