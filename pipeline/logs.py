"""Logs: what we and our libraries say, in one form, on standard error, at most once a second a cause."""

import atexit
import json
import logging
import logging.config
import sys
import time
from datetime import UTC, datetime
from typing import Any, NamedTuple, TextIO

import structlog
from structlog.typing import Processor

from pipeline.config import Settings

INTERVAL_S = 1.0
"""Seconds within which the same is said once."""
MAX_CAUSES = 10_000
"""Causes that are remembered."""
TELLING = ("stage", "topic", "changelog", "error")
"""Fields of a message that tell one cause from another."""


class _Cause(NamedTuple):
    logger: str
    level: int
    said: str
    told: tuple[str, ...]


class OncePerInterval(logging.Filter):
    """Lets a message pass once an interval for each cause; how often it did not is said with the next one, or alone later."""

    def __init__(self, interval_s: float = INTERVAL_S) -> None:
        super().__init__()
        self._interval_s = interval_s
        self._passed: dict[_Cause, tuple[float, int]] = {}
        self._swept = time.monotonic()
        atexit.register(self.say_held)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log this."""
        if getattr(record, "counts", False):
            return True
        cause, now = _cause(record), time.monotonic()
        if now - self._swept >= self._interval_s:
            self._swept = now
            self.say_held(now, but=cause)
        at, held = self._passed.get(cause, (now - self._interval_s, 0))
        if now - at < self._interval_s:
            self._passed[cause] = at, held + 1
            return False
        if len(self._passed) >= MAX_CAUSES:
            self._passed.clear()
        self._passed[cause] = now, 0
        if held:
            _say_repeated(record, held)
        return True

    def say_held(self, now: float = float("inf"), but: _Cause | None = None) -> None:
        """Say how often messages were held back that have not come since."""
        for cause, (at, held) in [*self._passed.items()]:
            if held and now - at >= self._interval_s and cause != but:
                self._passed[cause] = at, 0
                text = f"{cause.said} (and {held} more)"
                counts = logging.LogRecord(cause.logger, cause.level, "", 0, text, (), None)
                counts.counts = True
                logging.getLogger(cause.logger).handle(counts)


def _cause(record: logging.LogRecord) -> _Cause:
    said = record.msg if isinstance(record.msg, dict) else {"event": record.msg}
    told = [str(said[name]) for name in TELLING if name in said]
    error = record.exc_info[1] if record.exc_info else said.get("exc_info")
    if isinstance(error, BaseException):
        told.append(repr(error))
    return _Cause(record.name, record.levelno, str(said.get("event")), tuple(told))


def _say_repeated(record: logging.LogRecord, times: int) -> None:
    if isinstance(record.msg, dict):
        record.msg = record.msg | {"repeated": times}
    else:
        record.msg, record.args = f"{record.getMessage()} (and {times} more)", ()


def configure(settings: Settings) -> dict[str, Any]:
    """Log as these settings say; returns the configuration, in the form of `logging.config`, for what sets up its own."""
    level = logging.getLevelName(settings.log_level)
    time_and_level: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*time_and_level, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": time_and_level,
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendered(settings)],
    }
    handler = {"class": "logging.StreamHandler", "formatter": "ours", "filters": ["once"], "stream": "ext://sys.stderr"}
    config = {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"ours": formatter},
        "filters": {"once": {"()": OncePerInterval}},
        "handlers": {"default": handler},
        "root": {"handlers": ["default"], "level": level},
        "loggers": {
            "aiokafka": {"level": max(level, logging.INFO)},  # it would format a line for every message
            "alembic": {"level": max(level, logging.WARNING)},  # it says at each look which database it looks at
            "mode.timers": {"level": max(level, logging.WARNING)},  # it says how late each timer is
        },
    }
    logging.config.dictConfig(config)
    return config


def _rendered(settings: Settings) -> list[Processor]:
    """What makes lines. Tracebacks come without local variables, which can hold passwords."""
    if settings.log_format == "json":
        frames = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        return [structlog.processors.ExceptionRenderer(frames), structlog.processors.JSONRenderer(ensure_ascii=False)]
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]


def announce(settings: Settings, sentence: str, to: TextIO | None = None) -> None:
    """Say on standard output, or there, what whoever started this waits for, whatever the level of the log is."""
    out, now = to or sys.stdout, datetime.now(UTC).isoformat().replace("+00:00", "Z")
    line = (
        json.dumps({"event": sentence, "level": "info", "timestamp": now})
        if settings.log_format == "json"
        else sentence
    )
    out.write(f"{line}\n")
    out.flush()
