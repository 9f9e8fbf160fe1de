"""The worker process: `python -m agents.worker`, what `newsburst worker` runs."""

import gc
import logging
import os
import signal
import sys
import threading

import faust
import structlog
from aiokafka.errors import KafkaConnectionError, KafkaError

from agents.app import create_app
from pipeline.config import Settings, SettingsError, load
from pipeline.kafka.changelogs import StateError
from pipeline.kafka.upgrade import NewerRow
from pipeline.logs import configure
from pipeline.storage.engine import DatabaseError
from pipeline.warm_up import warm_up

log = structlog.get_logger()

GC_THRESHOLDS = (100_000, 50, 100)
"""State lives for days: to look for garbage among it as often as Python does costs a fifth of the time."""
EXPLAINED = (DatabaseError, NewerRow, StateError, KafkaError)
"""Errors that their last words explain: they need no traceback."""
SHUTDOWN_TIMEOUT_S = 15.0
"""Seconds that a worker has to finish what it is at when it is told to end: supervisors kill after 30."""
RESTART_HINT = "Nothing is lost: restart the worker when this is fixed."


def main() -> None:
    """Run the agents until SIGTERM or Ctrl-C. Exits with 1 for wrong settings, and when the worker cannot go on; it says why."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # until Faust listens, there is nothing in hand
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    try:
        settings = load()
        settings.score_weights()
    except SettingsError as error:
        sys.exit(f"newsburst worker: {error}")
    run(settings)


def run(settings: Settings) -> None:
    """Run a worker with these settings; never returns."""
    logging_config = configure(settings)
    gc.set_threshold(*GC_THRESHOLDS)
    warm_up(settings.cluster_rule(), settings.detect_rule(), settings.score_weights())
    for name in ("faust.agents.agent", "faust.agents.actor", "faust.worker", "mode.services", "mode.worker"):
        logging.getLogger(name).addFilter(_says_more_than_last_words)
    try:
        app = create_app(settings)
    except SettingsError as error:
        sys.exit(f"newsburst worker: {error}")
    except OSError as error:
        sys.exit(f"newsburst worker: NEWSBURST_METRICS_PORT={settings.metrics_port}: {error}")
    worker = faust.Worker(
        app, loglevel=settings.log_level, logging_config=logging_config, redirect_stdouts=False, quiet=True
    )
    worker.spinner = None  # it would write a terminal's codes even to a file
    worker.on_worker_shutdown = _end_in_time
    try:
        worker.execute_from_commandline()
    except SystemExit as end:
        reason = end.__context__
        if isinstance(reason, EXPLAINED):
            sys.exit(f"newsburst worker: {last_words(reason, settings)}")
        raise


def last_words(error: BaseException, settings: Settings) -> str:
    """Why the worker cannot go on, and what to do."""
    if isinstance(error, KafkaConnectionError):
        return (
            f"No Kafka answers at {settings.kafka} (NEWSBURST_KAFKA), or it takes no login: {error}. "
            f"`newsburst doctor` says more. {RESTART_HINT}"
        )
    if isinstance(error, KafkaError):
        return (
            f"Kafka refuses for good: {type(error).__name__}: {error}. `newsburst doctor` says what is missing; what a worker's "
            f"user must be allowed is in docs/security.md. {RESTART_HINT}"
        )
    return f"{error} {RESTART_HINT}"


def _end_in_time() -> None:
    """Give up what waits for a broker or a database that is away: it is not acknowledged, so nothing is lost."""
    end = threading.Timer(SHUTDOWN_TIMEOUT_S, _give_up, [sys.exc_info()[1]])
    end.daemon = True
    end.start()


def _give_up(error: BaseException | None) -> None:
    log.warning("ends without finishing what waits for Kafka or Postgres; nothing is lost", error=error and repr(error))
    sys.stdout.flush()
    os._exit(0 if error is None else 1)


def _says_more_than_last_words(record: logging.LogRecord) -> bool:
    """Whether to log this: a failure that its last words explain needs no traceback, and no second one."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, EXPLAINED) and "Reraising" not in record.getMessage()


if __name__ == "__main__":
    main()
