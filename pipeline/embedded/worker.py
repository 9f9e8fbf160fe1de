"""A worker as a process of ours, under guard."""

import signal
import sys
from pathlib import Path

from pipeline.config import Settings
from pipeline.embedded.guard import Guarded

COMMAND = (sys.executable, "-m", "agents.worker")


def start_worker(settings: Settings, log: Path) -> Guarded:
    """Start a worker with these settings; `stop` ends it by SIGTERM, and so does the end of this process."""
    return Guarded(COMMAND, signal.SIGTERM, log, environment=settings.environment())
