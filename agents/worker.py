"""The worker process: `python -m agents.worker`, what `newsburst worker` runs."""

import gc
import logging
import sys

import faust
import structlog
from prometheus_client import start_http_server

from agents.app import create_app
from pipeline.config import Settings, SettingsError, load
from pipeline.replay import warm_up


def main() -> None:
    """Run the agents until SIGTERM or Ctrl-C. Exits 2 for wrong settings, 1 when the worker cannot go on."""
    try:
        settings = load()
        settings.score_weights()
    except SettingsError as error:
        sys.exit(f"newsburst worker: {error}")
    run(settings)


def run(settings: Settings) -> None:
    """Run a worker with these settings; never returns."""
    level = logging.getLevelName(settings.log_level)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(level))
    logging.getLogger("aiokafka").setLevel(max(level, logging.INFO))  # it would format a debug line for every message
    if settings.metrics_port:
        start_http_server(settings.metrics_port)
    gc.set_threshold(100_000, 50, 100)  # rows live for days: looking for garbage among them costs a fifth of the time
    warm_up(settings.cluster_rule(), settings.detect_rule(), settings.score_weights())
    worker = faust.Worker(create_app(settings), loglevel=settings.log_level, redirect_stdouts=False, quiet=True)
    worker.execute_from_commandline()


if __name__ == "__main__":
    main()
