"""What pages and API answer from: Postgres, Kafka and the settings of one web server."""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pipeline.config import Settings
from pipeline.storage import browse
from pipeline.storage.read import Reader, Row
from pipeline.web.hub import Hub

T = TypeVar("T")
TIMEOUT = timedelta(seconds=10)
"""How long a statement may take: nobody waits longer for a page."""
KEPT_ANSWERS = 200


class Kept:
    """Answers that are good for a while: many readers, one question."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()
        self._asking: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def answer(self, question: Hashable, seconds: float, ask: Callable[[], T]) -> T:
        """The answer to a question, asked again where it is older than that; those who ask meanwhile wait for it."""
        with self._lock:
            asking = self._asking.setdefault(question, threading.Lock())
        with asking:
            at, answer = self._answers.get(question, (float("-inf"), None))
            if time.monotonic() - at > seconds:
                answer = ask()
                with self._lock:
                    self._answers[question] = time.monotonic(), answer
                    self._answers.move_to_end(question)
                    while len(self._answers) > KEPT_ANSWERS:
                        oldest, _ = self._answers.popitem(last=False)
                        self._asking.pop(oldest, None)
        found: T = answer
        return found


class Source:
    """What a web server reads from."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.reader = Reader(settings.postgres, timeout=TIMEOUT)
        self.hub = Hub(settings)
        self.kept = Kept()
        self.asking_kafka = asyncio.Semaphore(1)

    def report(self, name: str, seconds: float = 5.0, **given: Any) -> list[Row]:
        """The rows of a report, which may be so many seconds old. Raises DatabaseError."""
        question = (name, *sorted(given.items()))
        return self.kept.answer(question, seconds, lambda: self.reader.report(name, **given))

    def editions(self) -> dict[str, datetime]:
        """The stream time of each edition. Raises DatabaseError."""
        return self.kept.answer("editions", 2.0, lambda: dict(browse.editions(self.reader)))

    def now(self, edition: str | None = None) -> datetime | None:
        """Stream time: of an edition, or the latest of all; None before the first story. Raises DatabaseError."""
        times = self.editions()
        return times.get(edition) if edition is not None else max(times.values(), default=None)
