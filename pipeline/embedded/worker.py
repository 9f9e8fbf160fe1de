"""A worker as a process of ours, under guard."""

import signal
import sys
from pathlib import Path

from pipeline.config import Settings
from pipeline.embedded.guard import Guarded

COMMAND = (sys.executable, "-P", "-m", "agents.worker")
"""`-P`: what lies in the working folder is not imported."""


SAYS_READY = "newsburst worker: ready"
"""What it writes when it has its first partitions."""


def start_worker(settings: Settings, log: Path) -> Guarded:
    """Start a worker with these settings; `stop` ends it by SIGTERM, and so does the end of this process."""
    return Guarded(COMMAND, signal.SIGTERM, log, environment=settings.environment())
