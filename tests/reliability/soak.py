"""`scripts/soak [--minutes N] [--messages N] [--seed N]`: harm done at random while stories come, then the promise is tried.

With `--backlog`, all messages wait before the first worker starts, and no harm is done. Every schedule follows from its seed, as
far as processes can be made to. Exit code 0 only when nothing was lost, nothing came twice, and everything equals the replay; the
last line holds the figures, as JSON.
"""

import argparse
import asyncio
import json
import logging
import random
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict

from pipeline.kafka.progress import GroupProgress
from tests.reliability.edit import Editor
from tests.reliability.feed import feed, messages
from tests.reliability.promise import judge, other_database
from tests.reliability.system import DRAIN, System, folder_of_run

MOST_WORKERS = 4
AMENDMENTS = 1_000
"""How often somebody corrects in a full soak."""
FROZEN = 15
"""Seconds that a worker is frozen: longer than its session."""
HARM = {
    "kill": 50,
    "end": 6,
    "join": 10,
    "leave": 8,
    "freeze": 5,
    "freeze in a transaction": 3,
    "disk full": 1,
    "broker outage": 3,
    "database outage": 3,
    "database crash": 2,
    "cut connections": 4,
}
"""How often each harm is done in a full soak."""


class Harm:
    """Does harm to a system, and counts it."""

    def __init__(self, system, seed):
        self.system, self.random = system, random.Random(seed)
        self.wanted = 2
        self.done = Counter()
        self.slow_ends = 0
        self.largest = 0
        """bytes of the largest worker that was seen"""
        self.thaw = {}

    def do(self, harm):
        """One harm; returns when it is over, but for frozen workers."""
        system, awake = self.system, [worker for worker in self.system.workers if not worker.frozen]
        self.done[harm] += 1
        if harm == "kill" and awake:
            system.kill_worker(self.random.choice(awake))
        elif harm == "freeze" and awake:
            worker = self.random.choice(awake)
            system.freeze(worker, frozen=True)
            self.thaw[id(worker)] = (time.monotonic() + FROZEN, worker)
        elif harm == "freeze in a transaction":
            writing = self._seen_writing()
            if writing is not None:
                system.freeze(writing, frozen=True)
                self.thaw[id(writing)] = (time.monotonic() + 2 * FROZEN, writing)
            else:
                self.done[harm] -= 1
        elif harm == "join":
            self.wanted = min(MOST_WORKERS, self.wanted + 1)
        elif harm in {"leave", "end"} and awake:
            if harm == "leave":
                self.wanted = max(1, self.wanted - 1)
            worker = self.random.choice(awake)
            begun = worker.has_begun()
            code, seconds = system.end_worker(worker)
            if (begun and code != 0) or seconds > DRAIN:
                self.slow_ends += 1
                sys.stderr.write(f"SIGTERM: exit code {code} after {seconds:.1f} s\n")
        else:
            self._harm_service(harm)
        self.tend()

    def _harm_service(self, harm):
        """Harm to the broker or the database."""
        system = self.system
        if harm == "broker outage":
            system.kill_broker()
            time.sleep(self.random.uniform(2, 15))
            system.kafka.start()
        elif harm == "database outage":
            system.postgres.stop()
            time.sleep(self.random.uniform(5, 60))
            system.postgres.start()
        elif harm == "database crash":
            system.kill_database()
            system.postgres.start()
        elif harm == "cut connections":
            system.cut_connections()
        elif harm == "disk full":
            self.done[harm] -= not system.fill_disk(20)

    def _seen_writing(self):
        """A worker that is seen with a transaction open, within some seconds."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            for worker in self.system.writing():
                if worker.running and not worker.frozen:
                    return worker
        return None

    def tend(self):
        """What a supervisor does: start what is missing; and let the frozen go on when it is time."""
        for key, (until, worker) in [*self.thaw.items()]:
            if time.monotonic() >= until:
                del self.thaw[key]
                self.system.freeze(worker, frozen=False)
        self.system.keep(self.wanted)
        self.largest = max(self.largest, self.system.memory())

    def calm(self):
        """Do no more."""
        for until, _ in self.thaw.values():
            time.sleep(max(0.0, until - time.monotonic()))
        self.tend()


def soak(system, count, seconds, seed, harms):
    """Send messages for so many seconds while these harms are done in random order; returns the figures.

    In no time, workers start only when all messages are there.
    """
    sent = set()
    stories = messages(count, seed)
    feeding = threading.Thread(target=lambda: sent.update(asyncio.run(feed(system.settings, stories, seconds))))
    harm = Harm(system, seed)
    order = [name for name, times in harms.items() for _ in range(times)]
    harm.random.shuffle(order)
    if seconds:
        harm.tend()
    start = time.monotonic()
    feeding.start()
    if not seconds:
        feeding.join()
    with Editor(system.settings, seed, max(1, seconds) / (AMENDMENTS * count / 200_000)):
        for number, name in enumerate(order):
            due = start + seconds * (number + harm.random.random()) / len(order)
            while time.monotonic() < due:
                harm.tend()
                time.sleep(min(0.2, max(0.0, due - time.monotonic())))
            sys.stderr.write(f"{time.monotonic() - start:6.0f} s  {name}\n")
            harm.do(name)
        harm.calm()
        feeding.join()
    calm = time.monotonic()
    asyncio.run(_settle(system, harm))
    settled = time.monotonic()
    figures = {"messages": count, "seconds": round(calm - start), "seconds to settle": round(settled - calm)}
    figures |= dict(harm.done) | {"rebalances": system.rebalances(), "ended by themselves": system.gave_up}
    figures |= {"slow or failed ends": harm.slow_ends, "largest worker, MB": round(harm.largest / 1e6)}
    for worker in [*system.workers]:
        system.end_worker(worker)
    return figures, judge(system.settings, other_database(system.settings), sent)


async def _settle(system, harm, patience=1_800):
    deadline = time.monotonic() + patience
    async with GroupProgress(system.settings) as progress:
        while lag := await progress.lag():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{lag} records are left after {patience} s.")
            harm.tend()
            await asyncio.sleep(1)


def main():
    """Run a soak."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # the broker is away now and then
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=25, help="how long stories come and harm is done")
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--backlog", action="store_true", help="all messages are there before the workers start; no harm"
    )
    parser.add_argument("--standby", action="store_true", help="workers keep each other's states")
    parser.add_argument("--keep", action="store_true", help="keep the folder with all logs when the promise is broken")
    asked = parser.parse_args()
    share = asked.messages / 200_000
    harms = {name: max(1, round(times * share)) for name, times in HARM.items()}
    with folder_of_run("soak", keep=asked.keep) as folder:
        with System(folder, disk="3g", standby=asked.standby) as system:
            if asked.backlog:
                figures, verdict = soak(system, asked.messages, 0, asked.seed, {})
            else:
                figures, verdict = soak(system, asked.messages, asked.minutes * 60, asked.seed, harms)
        kept = verdict.kept
        sys.stdout.write(json.dumps(figures | asdict(verdict) | {"kept": kept}) + "\n")
        if not kept:
            sys.exit(1)


if __name__ == "__main__":
    main()
