"""The guard: a service never outlives the process that started it."""

import os
import signal
import subprocess
import sys

import pytest

from pipeline.embedded.guard import Guarded
from tests.integration.helpers import wait_for

STARTER = """
import signal, sys, time
from pathlib import Path
from pipeline.embedded.guard import Guarded
command = [sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"]
service = Guarded(command, signal.SIGTERM, Path(sys.argv[1]))
time.sleep(600)
"""


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:  # noqa: PTH123 - what has ended but was not waited for
        return stat.read().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_service_ends_with_its_starter_however_that_ends(tmp_path, end):
    log = tmp_path / "log"
    starter = subprocess.Popen([sys.executable, "-c", STARTER, str(log)], stderr=subprocess.DEVNULL)
    pid = int(wait_for(lambda: log.exists() and log.read_text().strip()))
    assert alive(pid)
    starter.send_signal(end)
    starter.wait()
    wait_for(lambda: not alive(pid))


def test_stopping_waits_for_the_end_and_gives_the_signal(tmp_path):
    code = "import signal, sys, time\nsignal.signal(signal.SIGINT, lambda *_: sys.exit(print('bye', flush=True)))\n"
    service = Guarded(
        [sys.executable, "-c", code + "print('up', flush=True)\ntime.sleep(600)"], signal.SIGINT, tmp_path / "log"
    )
    wait_for(lambda: "up" in service.last_words())
    assert not service.has_ended()
    service.stop()
    assert service.last_words().endswith("bye")


def test_a_service_that_fails_is_seen_to_have_ended_and_its_last_words_are_kept(tmp_path):
    service = Guarded(
        [sys.executable, "-c", "print('no such thing'); raise SystemExit(3)"], signal.SIGTERM, tmp_path / "log"
    )
    wait_for(service.has_ended)
    assert service.last_words() == "no such thing"
    service.stop()
