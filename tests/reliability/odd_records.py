"""Records and batches for the fuzzer: as sound, and as odd, as Kafka's format allows."""

import gzip
import json
import random
import struct
import time
from datetime import UTC, datetime, timedelta

import cramjam
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c, encode_varint

from tests import sample

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
