"""`scripts/fuzz [--messages N] [--rate N] [--seed N]`: whatever Kafka takes in is sent to `stories` of a running system.

Keys, values, headers, compression and whole batches are made of what is sound and of what is as odd as the format allows. Every
record that the broker took in must come out as a story or as a dead letter; no worker may end; then what came out must equal the
replay. Exit code 0 only when all of that holds; the last line holds the figures, as JSON.
"""

import argparse
import asyncio
import gzip
import json
import random
import struct
import sys
import time
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import cramjam
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c, encode_varint

from pipeline.kafka.consumer import UnreadableRecord
from pipeline.kafka.progress import GroupProgress
from tests import sample
from tests.integration.helpers import read
from tests.reliability.promise import judge, other_database
from tests.reliability.system import System, folder_of_run

HEADER, CRC_AT, ATTRIBUTES_AT = 61, 17, 21
LARGEST = 900_000
"""Bytes of a batch: the broker takes no more than a mebibyte."""
ODD_TEXTS = [
    *("", " ", "\x00", "a\x00b", "\u202eevil\u202c", "\u200b" * 20, "\ufeff", "e\u0301" * 50, "\u0300\u0316" * 500),
    *(
        "<!--" * 500,
        "<b>Bold</b> claim",
        "&#" + "9" * 5_000 + ";",
        "&amp;" * 300,
        "\ufdfa" * 100,
        "[/] [bold]x[/bold] :fire:",
    ),
    *(
        "\x1b[31mred\x1b[0m",
        "'; DROP TABLE news.stories; --",
        "\u6771\u4eac\u3067\u5730\u9707",
        "\u0632\u0644\u0632\u0644\u0629",
    ),
    *(
        "News | " * 50,
        "(" * 400,
        "x" * 3_000,
        "\U0001f525" * 100,
        "NaN",
        "null",
        "\\u0000",
        "a" * 500 + " " + "b" * 500,
    ),
]
ODD_VALUES = [None, True, 0, -1, 1e308, 10**30, [], {}, [[[]]], {"a": {"b": 1}}, *ODD_TEXTS]
ODD_TIMES = [
    *(
        "2024-05-01T12:00:00",
        "yesterday",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "1970-01-01T00:00:00Z",
    ),
    *(
        "2100-01-01T00:00:00Z",
        "2024-02-30T00:00:00Z",
        "2024-05-01T24:00:00Z",
        1714564800,
        "2024-05-01T12:00:00.123456789Z",
    ),
]
LANGUAGES = ["en", "de", "fr", "es", "pt-BR", "xx", "english", "qqq", "zh-Hant-TW", "EN_us", "a" * 50, "tlh", "yue"]
FIELDS = ["url", "title", "publisher", "crawled_at", "id", "language", "published_at", "body", "retracted", "unknown"]
ODD_BYTES = [
    b"",
    b"{",
    b"[1]",
    b"\xff\xfe",
    b"\x00" * 50,
    b"[" * 50_000,
    b'{"a":' * 20_000,
    b'"\\ud800"',
    b"1e99999",
    b"null",
]
CODECS = {1: gzip.compress, 2: cramjam.snappy.compress_raw, 3: cramjam.lz4.compress, 4: cramjam.zstd.compress}


class Grammar:
    """Makes batches of records, sound and odd."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.sample = [json.loads(line) for line in sample.lines()]
        self.number = 0

    def story(self):
        """A sound story of about now, in one of four languages."""
        self.number += 1
        made = dict(self.sample[self.number % len(self.sample)])
        at = datetime.now(UTC) - timedelta(seconds=self.random.choice([0, 1, 60, 3_000, 90_000]))
        made |= {"id": f"f{self.number}", "crawled_at": at.isoformat(), "language": self.random.choice(LANGUAGES[:4])}
        made["url"] = f"{made['url']}?f={self.number}"
        return made

    def value(self):
        """A sound value most of the time."""
        draw, choose = self.random.random(), self.random.choice
        if draw < 0.03:
            return choose([None, *ODD_BYTES])
        if draw < 0.06:
            return self.random.randbytes(self.random.randrange(200))
        made = self.story()
        if draw < 0.25:
            for field in self.random.sample(FIELDS, self.random.choice([1, 1, 2, 3])):
                how = self.random.random()
                if how < 0.2:
                    made.pop(field, None)
                elif "_at" in field and how < 0.7:
                    made[field] = choose(ODD_TIMES)
                elif field == "language" and how < 0.8:
                    made[field] = choose(LANGUAGES)
                elif field == "url" and how < 0.8:
                    made[field] = f"https://{choose(['e.com', '[::1]', 'm.e.com:99', 'xn--e'])}/{choose(ODD_TEXTS)}"
                elif how < 0.85:
                    made[field] = choose(ODD_TEXTS) * self.random.choice([1, 1, 1, 10])
                else:
                    made[field] = choose(ODD_VALUES)
        encoded = json.dumps(made, ensure_ascii=self.random.random() < 0.5).encode(errors="surrogatepass")
        if draw > 0.99:
            spoilt = bytearray(encoded)
            for _ in range(self.random.randint(1, 4)):
                spoilt[self.random.randrange(len(spoilt))] = self.random.randrange(256)
            encoded = bytes(spoilt)
        return encoded

    def headers(self):
        """None most of the time."""
        if self.random.random() < 0.9:
            return []
        names = [
            "",
            "trace",
            "\u00e9",
            "newsburst-requeued",
            "newsburst-kind",
            "newsburst-from",
            "newsburst-partition",
            "n" * 1_000,
        ]
        values = [None, b"", b"many", b"tick", b"\xff", b"newsburst.events", b"v" * 1_000]
        count = self.random.choice([1, 1, 2, 200])
        return [(self.random.choice(names), self.random.choice(values)) for _ in range(count)]

    def batch(self, most):
        """A batch as it goes over the wire, and how many records it says it has."""
        count, codec = self.random.randint(1, most), self.random.choice([0, 0, 1, 2, 3, 4])
        builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, 0, LARGEST)
        written = 0
        while written < count:
            key = self.random.choice([None, b"", b"en", b"de", self.random.randbytes(8), b"k" * 5_000])
            now = self.random.choice([0, int(time.time() * 1_000), 2**50])
            if builder.append(written, now, key, self.value(), self.headers()) is None:
                break
            written += 1
        raw = bytearray(builder.build())
        how = self.random.random()
        payload = bytes(raw[HEADER:])
        if how < 0.08:
            payload = payload.replace(b"trace", b"tr\xff\xfee")
        if how < 0.01:
            payload, codec, written = self.odd_payload()
        return packed(raw[:HEADER], payload, codec, written), written

    def odd_payload(self):
        """What no client library writes, compressed, so that the broker does not look at all of it."""
        if self.random.random() < 0.2:
            return record(0, b"k", b"{" + b" " * self.random.choice([3_000_000, 100_000_000]) + b"}", []), 4, 1
        bad = [(b"\xff" * 3, b"v")] * self.random.choice([1, 50])
        return b"".join(record(number, None, b"{}", bad) for number in range(3)), self.random.choice([1, 3, 4]), 3


def packed(header, payload, codec, count):
    """A batch with this header of another, and these records, so many, compressed."""
    made = bytearray(header) + (bytes(CODECS[codec](payload)) if codec else payload)
    struct.pack_into(">i", made, 8, len(made) - 12)
    made[16] = 2
    struct.pack_into(">h", made, ATTRIBUTES_AT, codec)
    struct.pack_into(">i", made, 23, count - 1)
    struct.pack_into(">qhi", made, 43, -1, -1, -1)
    struct.pack_into(">i", made, HEADER - 4, count)
    struct.pack_into(">I", made, CRC_AT, calc_crc32c(bytes(made[ATTRIBUTES_AT:])))
    return bytes(made)


def record(number, key, value, headers):
    """A record by hand: header names are bytes."""
    body = bytearray(b"\x00")

    def put(number):
        encode_varint(number, body.append)

    put(0)
    put(number)
    for part in (key, value):
        put(-1 if part is None else len(part))
        body.extend(part or b"")
    put(len(headers))
    for name, said in headers:
        put(len(name))
        body.extend(name)
        put(len(said))
        body.extend(said)
    length = bytearray()
    encode_varint(len(body), length.append)
    return bytes(length + body)


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
