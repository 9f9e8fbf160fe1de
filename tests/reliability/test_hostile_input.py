"""A hundred thousand messages that nobody should send: the only answer is a story, or the error that is declared."""

import json
import random
import resource
from datetime import UTC, datetime

import pytest

from pipeline.codec import InvalidRecord, decode, encode
from pipeline.records import MAX_BODY, MAX_TITLE, Story
from pipeline.stages.fingerprint import fingerprint
from pipeline.stages.normalise import normalise

COUNT = 100_000
NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
GOOD = {
    "url": "https://a.example/1?utm_source=x",
    "title": "Strong quake hits capital - The Daily",
    "publisher": "The Daily",
    "crawled_at": "2024-05-01T11:00:00Z",
    "language": "en",
    "body": "A strong quake has hit the capital.",
}
TEXTS = [
    "", " ", "\x00", "a\x00b", "\ud800", "x\udfffy", "\u202eevil\u202c", "\u200b" * 50, "\ufeff", "\u0301" * 400, "A\u0300\u0301",
    "<" * 500, "<a" * 300, "&#" * 300, "&#x110000;", "&#0;", "&amp;" * 100, "-" * 900, " - " * 400, "a - " * 400, "| " * 700,
    "Opinion: " * 150, "(" * 900, "()" * 400, "a." * 700, "'" * 900, "a'" * 700, "\u0640" * 900, "\u4e2d" * 1_999, "\u3042" * 900,
    "\U0001f600" * 500, "\ufdfa" * 300, "1e308", "9" * 2_000, "a" * 2_000, "a " * 999, "\u0130" * 900, "\u1e9e" * 900,
    "\u0e33" * 900,
    "xn--" * 200, "http://" * 200, "https://[::1", "https://a:99999/", "https://\u2100.example/", "https://a.example/%ff%00",
    "https://user:pass@a.example/", "javascript:alert(1)", "HTTPS://A.EXAMPLE:443/?" + "&".join(f"utm_{n}=1" for n in range(200)),
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2024-05-01T11:00:00+23:59", "2024-02-30T00:00:00Z", "en-" * 100,
    "zz", "x" * 600,
]  # fmt: skip
VALUES = [None, True, -1, 0, 1e308, -1e308, 10**400, [], {}, [[]], {"a": {"b": 1}}, 1714564800]
SHAPES = [
    b"", b"\x00", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, b"1e99999", b"-", b"nul",
    b"\xef\xbb\xbf{}", b'{"title": "\\ud800"}',
    b'{"title": "' + b"\\u0000" * 300 + b'"}', b"[" * 5_000 + b"]" * 5_000,
]  # fmt: skip


def mutated(shuffle):
    """A message that has been tampered with."""
    kind = shuffle.random()
    if kind < 0.01:
        return shuffle.choice(SHAPES)
    fields = dict(GOOD)
    for _ in range(shuffle.randint(0, 3)):
        name = shuffle.choice([*GOOD, "id", "published_at", "unknown"])
        fields[name] = shuffle.choice(TEXTS if shuffle.random() < 0.8 else VALUES)
        if isinstance(fields[name], str) and shuffle.random() < 0.3:
            fields[name] = f"{GOOD.get(name, '')}{fields[name]}{shuffle.choice(TEXTS)}"[:MAX_TITLE]
    if shuffle.random() < 0.1:
        fields.pop(shuffle.choice([*GOOD]))
    value = json.dumps(fields, ensure_ascii=shuffle.random() < 0.5).encode("utf-8", "surrogatepass")
    if kind < 0.3:
        spoilt = bytearray(value)
        for _ in range(shuffle.randint(1, 4)):
            place = shuffle.randrange(len(spoilt))
            change = shuffle.random()
            if change < 0.4:
                spoilt[place] = shuffle.randrange(256)
            elif change < 0.7:
                del spoilt[place : place + shuffle.randint(1, 20)]
            else:
                spoilt[place:place] = bytes(shuffle.choices(range(256), k=shuffle.randint(1, 5)))
            if not spoilt:
                break
        value = bytes(spoilt)
    return value


def answer(value):
    """Whether the message is a story that goes on its way."""
    try:
        encode(fingerprint(normalise(decode(value, Story), NOW)))
    except InvalidRecord as error:
        return not 0 < len(str(error)) < 4_000
    return True


@pytest.mark.parametrize("seed", range(4))
def test_a_hundred_thousand_mutated_messages_raise_nothing_else(seed):
    shuffle = random.Random(seed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answers = [answer(mutated(shuffle)) for _ in range(COUNT // 4)]
    assert 0.2 < sum(answers) / len(answers) < 0.9
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 300_000, f"{grown} kB"


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.parametrize("field", ["title", "publisher", "body", "url"])
@pytest.mark.timeout(30)
def test_no_text_is_gone_over_again_and_again(field, text):
    """The longest of each kind: where a pattern went back over it, this would take hours."""
    most = {"title": MAX_TITLE, "body": MAX_BODY, "publisher": 500, "url": 4_096}[field]
    text = (text or "a") * (most // max(1, len(text)))
    if field == "url":
        text = f"https://a.example/{text}"[:most]
    message = json.dumps(GOOD | {field: text[:most]}).encode()
    answer(message)


def test_signs_that_unfold_into_many_make_no_larger_story():
    story = decode(json.dumps(GOOD | {"title": "\ufdfa" * MAX_TITLE, "body": "\ufdfa" * MAX_BODY}).encode(), Story)
    made = normalise(story, NOW)
    assert len(made.title) <= MAX_TITLE
    assert len(made.body) <= MAX_BODY
