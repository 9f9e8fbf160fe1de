"""Text that is made to take long: the time for a byte of it, against a byte of news."""

import random
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime

from bench.figures import Figure, compare
from bench.news import RECEIVED, bodies
from pipeline.codec import InvalidRecord
from pipeline.records import Story
from pipeline.stages.fingerprint import fingerprint
from pipeline.stages.normalise import normalise

PIECES = (
    *("<!--", "<a", "<!-- -->", "\u0300\u0316", "\uff9e\u0300", "\u0300" * 29 + "\u0640", "&amp", "&", "&#1", "\ufdfa"),
    *("&#" + "9" * 100, " - ", "News | ", "(", ", edition", "a'", "\u0915\u094d\u200d", "\u1100\u1161\u11a8", "a.a."),
    *(" \u3000", "\u201c", "\u0130", "word "),
)
LENGTH = 200_000
"""Characters of a body: the most that a story may have."""
WORST = 20.0
"""How much more a byte may take than one of news; what is quadratic takes thousands."""


def figures(*, quick: bool) -> Iterable[Figure]:
    """The worst of all pieces repeated, and of random mixtures of them."""
    shuffle = random.Random(1)
    texts = [piece * (LENGTH // len(piece)) for piece in PIECES]
    texts += ["".join(shuffle.choices(PIECES, k=LENGTH // 8))[:LENGTH] for _ in range(5 if quick else 50)]
    plain = " ".join(bodies())[:LENGTH]
    worst = max(texts, key=lambda text: min(_seconds_a_byte(text) for _ in range(3)))
    yield compare(
        "text made to take long, the worst of many kinds",
        "news of as many characters",
        lambda: 1e9 * _seconds_a_byte(worst),
        lambda: 1e9 * _seconds_a_byte(plain),
        unit="ns a byte",
        target=WORST,
    )


def _seconds_a_byte(text: str) -> float:
    story = Story(
        url="https://news.example/a",
        title=text[:2_000],
        publisher=text[:500],
        crawled_at=datetime(2020, 1, 1, tzinfo=UTC),
        body=text,
    )
    start = time.process_time()
    with suppress(InvalidRecord):  # a title without text takes its time, too
        fingerprint(normalise(story, RECEIVED))
    return (time.process_time() - start) / len(text.encode())
