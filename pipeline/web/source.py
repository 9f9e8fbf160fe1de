"""What pages and API answer from: Postgres, Kafka and the settings of one web server."""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pipeline.config import Settings
from pipeline.filters import is_of
from pipeline.storage import browse
from pipeline.storage.engine import DatabaseError
from pipeline.storage.migrate import wrong_schema
from pipeline.storage.read import Reader, Row
from pipeline.web.hub import Hub

T = TypeVar("T")
TIMEOUT = timedelta(seconds=10)
"""How long a statement may take: nobody waits longer for a page."""
KEPT_ANSWERS = 200
HEALTH_S, HEALTH_TIMEOUT_S = 1.0, 5.0
"""How long an answer about health is good, and how long Postgres has for it."""
STALE_S = 30.0
"""How old an answer may be that is given while a newer one is asked for."""
ASKING_AT_ONCE = 4


class Kept:
    """Answers that are good for a while. One that is a little too old is given while it is asked for again."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()
        self._asking: dict[Hashable, Future[Any]] = {}
        self._threads = ThreadPoolExecutor(ASKING_AT_ONCE, "ask")
        self._lock = threading.Lock()

    def answer(self, question: Hashable, seconds: float, ask: Callable[[], T]) -> T:
        """The answer to a question, at most so many seconds old, or up to STALE_S while it is asked for again."""
        with self._lock:
            at, answer = self._answers.get(question, (float("-inf"), None))
            age = time.monotonic() - at
            if age > seconds and question not in self._asking:
                self._asking[question] = self._threads.submit(self._ask, question, ask)
            asking = self._asking.get(question)
        found: T = asking.result() if age > max(seconds, STALE_S) and asking is not None else answer
        return found

    def close(self) -> None:
        """End what is being asked."""
        self._threads.shutdown(cancel_futures=True)

    def _ask(self, question: Hashable, ask: Callable[[], T]) -> T:
        try:
            begun = time.monotonic()
            answer = ask()
            with self._lock:
                self._answers[question] = begun, answer
                self._answers.move_to_end(question)
                while len(self._answers) > KEPT_ANSWERS:
                    self._answers.popitem(last=False)
            return answer
        finally:
            with self._lock:
                self._asking.pop(question, None)


class Source:
    """What a web server reads from."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.reader = Reader(settings.postgres, timeout=TIMEOUT)
        self.hub = Hub(settings)
        self.kept = Kept()
        self.asking_kafka = asyncio.Semaphore(1)
        self._asking_health = asyncio.Lock()
        self._health: tuple[float, list[str], list[Row]] = (float("-inf"), [], [])

    async def health(self) -> tuple[list[str], list[Row]]:
        """What is missing, and how far each edition is; asked for once a second at most, and answered in time."""
        async with self._asking_health:
            if time.monotonic() - self._health[0] > HEALTH_S:
                missing = [f"Kafka: {self.hub.problem}"] if self.hub.problem else []
                editions: list[Row] = []
                try:
                    async with asyncio.timeout(HEALTH_TIMEOUT_S):
                        editions = await asyncio.to_thread(self._editions)
                except DatabaseError as error:
                    missing.append(str(error))
                except TimeoutError:
                    missing.append(f"Postgres does not answer within {HEALTH_TIMEOUT_S:.0f} s.")
                self._health = time.monotonic(), missing, editions
            return self._health[1:]

    def _editions(self) -> list[Row]:
        if (wrong := wrong_schema(self.settings.postgres)) is not None:
            raise DatabaseError(wrong)
        return self.reader.report("pipeline-health")

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
        return max((at for name, at in times.items() if is_of(name, edition)), default=None)
