"""Keep a service from outliving the process that started it, however that process ends.

    python -P -m pipeline.embedded.guard SIGNAL USER COMMAND...

The guard runs COMMAND and holds the reading end of a pipe whose writing end only the starting process has. When that process
ends, even by SIGKILL, the pipe closes: the guard sends SIGNAL, then SIGKILL to what has not stopped in time. The guard leads
a session of its own, so that Ctrl-C in a terminal reaches the starting process alone, and it decides what stops when.
"""

import os
import pwd
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STOP_TIMEOUT_S = 20.0
"""Seconds to stop in."""


class Guarded:
    """A service under guard, started by this process."""

    def __init__(
        self,
        command: Sequence[str],
        stop_signal: signal.Signals,
        log: Path,
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.log = log
        with log.open("ab") as output:
            self._guard = subprocess.Popen(
                [sys.executable, "-P", "-m", "pipeline.embedded.guard", stop_signal.name, user or "-", *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **(environment or {})},
            )

    def has_ended(self) -> bool:
        """Whether the service has ended by itself."""
        return self._guard.poll() is not None

    def stop(self) -> None:
        """Stop the service and wait until it has."""
        if self._guard.stdin is not None:
            self._guard.stdin.close()
        self._guard.wait(STOP_TIMEOUT_S + 10)

    def last_words(self, lines: int = 15) -> str:
        """The end of the service's log."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


def as_user(user: str | None) -> dict[str, Any]:
    """What has a process run as a user, in that user's own group only; nothing for ourselves."""
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def main(arguments: Sequence[str]) -> int:
    """Run a command until it ends or standard input closes."""
    stop_signal, user, *command = arguments
    other = None if user == "-" else user
    service = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd="/" if other else None, **as_user(other))
    closed = threading.Event()

    def watch() -> None:
        while os.read(0, 4096):
            pass
        closed.set()
        service.send_signal(signal.Signals[stop_signal])
        try:
            service.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            service.kill()

    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()
    code = service.wait()
    return 0 if closed.is_set() else code or 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
