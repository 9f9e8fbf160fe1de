"""A worker, a web server, a push process and a crawler as processes of ours, under guard."""

import signal
import socket
import sys
from pathlib import Path

from pipeline.config import Settings
from pipeline.embedded.guard import Guarded

COMMAND = (sys.executable, "-P", "-m", "agents.worker")
"""`-P`: what lies in the working folder is not imported."""
CRAWL_COMMAND = (sys.executable, "-P", "-m", "pipeline.command", "crawl")
PUSH_COMMAND = (sys.executable, "-P", "-m", "pipeline.command", "push")
WEB_COMMAND = (sys.executable, "-P", "-m", "pipeline.command", "web")

SAYS_READY = "newsburst worker: ready"
"""What it writes when it has its first partitions."""


def start_worker(settings: Settings, log: Path) -> Guarded:
    """Start a worker with these settings; `stop` ends it by SIGTERM, and so does the end of this process."""
    return Guarded(COMMAND, signal.SIGTERM, log, environment=settings.environment())


def start_crawl(settings: Settings, log: Path) -> Guarded:
    """Start a crawler of the feeds that ship, with these settings."""
    return Guarded(CRAWL_COMMAND, signal.SIGTERM, log, environment=settings.environment())


def start_push(settings: Settings, log: Path) -> Guarded:
    """Start a push process with these settings."""
    return Guarded(PUSH_COMMAND, signal.SIGTERM, log, environment=settings.environment())


def start_web(settings: Settings, log: Path) -> Guarded:
    """Start a web server with these settings, on any free port where theirs is taken."""
    if _is_taken(settings.web_host, settings.web_port):
        settings = settings.model_copy(update={"web_port": 0})
    return Guarded(WEB_COMMAND, signal.SIGTERM, log, environment=settings.environment())


def _is_taken(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False
