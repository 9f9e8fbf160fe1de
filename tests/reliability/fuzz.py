"""`scripts/fuzz [--messages N] [--rate N] [--seed N]`: whatever Kafka takes in is sent to `stories` of a running system.

Keys, values, headers, compression and whole batches are made of what is sound and of what is as odd as the format allows. Every
record that the broker took in must come out as a story or as a dead letter; no worker may end; then what came out must equal the
replay. Exit code 0 only when all of that holds; the last line holds the figures, as JSON.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import asdict

from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.produce import ProduceRequest

from pipeline.kafka.consumer import UnreadableRecord
from pipeline.kafka.progress import GroupProgress
from tests.integration.helpers import read
from tests.reliability.odd_records import Grammar
from tests.reliability.promise import judge, other_database
from tests.reliability.system import System, folder_of_run


class Sending:
    """Sends batches as they are, and counts what the broker took in."""

    def __init__(self, settings):
        self.settings = settings
        self.topic = settings.topic("stories")
        self.taken, self.refused = 0, Counter()

    async def run(self, grammar, count, rate, watch):
        """Send about so many records, so many a second at most."""
        client = AIOKafkaClient(bootstrap_servers=self.settings.kafka, request_timeout_ms=60_000)
        await client.bootstrap()
        await client.set_topics([self.topic])
        partitions = sorted(client.cluster.partitions_for_topic(self.topic))
        start, number = time.monotonic(), 0
        try:
            while self.taken < count:
                await asyncio.sleep(max(0.0, start + self.taken / rate - time.monotonic()))
                made, records = grammar.batch(grammar.random.choice([1, 10, 100, 400]))
                request = ProduceRequest(
                    None, -1, 30_000, [(self.topic, [(partitions[number % len(partitions)], made)])]
                )
                response = await client.send(client.get_random_node(), request)
                ((_, (answer,)),) = response.topics
                if answer[1]:
                    self.refused[answer[1]] += records
                else:
                    self.taken += records
                number += 1
                await watch()
        finally:
            await client.close()


class LagObserver:
    """Looks at workers and lag every few seconds."""

    def __init__(self, system, progress):
        self.system, self.progress = system, progress
        self.largest = self.ended = 0
        self.longest = 0.0
        self._next = 0.0
        self._ends = []

    async def __call__(self):
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 2
        self.largest = max(self.largest, self.system.memory())
        self.ended = sum(not worker.running for worker in self.system.workers)
        self._ends.append((time.monotonic(), await self.progress.ends(["stories"])))
        while self._ends and not await self.progress.left(self._ends[0][1]):
            self._ends.pop(0)
        if self._ends:
            self.longest = max(self.longest, time.monotonic() - self._ends[0][0])


async def fuzz(system, count, rate, seed):
    """Send, wait until all is done, and count what came out."""
    settings = system.settings
    sending = Sending(settings)
    async with GroupProgress(settings) as progress:
        observer = LagObserver(system, progress)
        await sending.run(Grammar(seed), count, rate, observer)
        deadline = time.monotonic() + 900
        while await progress.lag():
            await observer()
            if time.monotonic() > deadline:
                raise TimeoutError("The workers did not finish.")
            await asyncio.sleep(0.5)
    return sending, observer


def accounted(settings):
    """How many records of `stories` came out as stories, and as dead letters; an unreadable batch counts as its records."""
    stories = sum(1 for _ in read(settings, "normalised"))
    letters = 0
    for letter in read(settings, "stories.dlq"):
        reason = dict(letter.headers)["newsburst-error"].decode()
        words = reason.split()
        letters += int(words[words.index("records") - 1]) if "a batch of" in reason else 1
    return stories, letters


def main():
    """Run the fuzzer."""
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=1_000, help="records a second, at most")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="keep the folder with all logs when something is wrong")
    asked = parser.parse_args()
    with folder_of_run("fuzz", keep=asked.keep) as folder:
        with System(folder) as system:
            for _ in range(asked.workers):
                system.start_worker()
            while not all(worker.has_begun() for worker in system.workers):
                time.sleep(0.2)
            time.sleep(8)  # the group is complete: what changes hands is worked on twice, which would be counted twice
            sending, watch = asyncio.run(fuzz(system, asked.messages, asked.rate, asked.seed))
            sys.stderr.write(
                f"{sending.taken} taken, longest lag {watch.longest:.1f} s; comparing with the replay ...\n"
            )
            stories, letters = accounted(system.settings)
            ended = sum(not worker.running for worker in system.workers)
            for worker in [*system.workers]:
                system.end_worker(worker)
            unreadable = sum(isinstance(record, UnreadableRecord) for record in read(system.settings, "stories"))
            verdict = judge(system.settings, other_database(system.settings))
        well = verdict.kept and not ended and stories + letters == sending.taken
        figures = {
            "taken": sending.taken,
            "stories or repeats": stories,
            "dead letters": letters,
            "unreadable": unreadable,
        }
        figures |= {"unaccounted for": sending.taken - stories - letters, "workers that ended": ended}
        figures |= {"refused by the broker": sum(sending.refused.values()), "longest lag, s": round(watch.longest, 1)}
        figures |= {"largest worker, MB": round(watch.largest / 1e6)} | asdict(verdict) | {"kept": well}
        sys.stdout.write(json.dumps(figures) + "\n")
        if not well:
            sys.exit(1)


if __name__ == "__main__":
    main()
