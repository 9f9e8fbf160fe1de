"""Logs: what we and our libraries say, in one form, on standard error, at most once a second a cause."""

import json
import logging
import logging.config
import sys
import time
from datetime import UTC, datetime
from typing import Any

import structlog
from structlog.typing import Processor

from pipeline.config import Settings

INTERVAL_S = 1.0
"""Seconds within which the same is said once."""
MAX_CAUSES = 10_000
"""Causes that are remembered."""


class OncePerInterval(logging.Filter):
    """Lets a message of a logger pass once an interval; the next that passes says how many did not, as `repeated`."""

    def __init__(self, interval_s: float = INTERVAL_S) -> None:
        super().__init__()
        self._interval_s = interval_s
        self._passed: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log this."""
        event = record.msg.get("event") if isinstance(record.msg, dict) else record.msg
        cause, now = (record.name, record.levelno, str(event)), time.monotonic()
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
    rendered: list[Processor] = (
        [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer(ensure_ascii=False)]
        if settings.log_format == "json"
        else [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    )
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": time_and_level,
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendered],
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


def announce(settings: Settings, sentence: str) -> None:
    """Say on standard output what whoever started this waits for, whatever the level of the log is."""
    now = datetime.now(UTC).isoformat()
    line = (
        json.dumps({"event": sentence, "level": "info", "timestamp": now})
        if settings.log_format == "json"
        else sentence
    )
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
