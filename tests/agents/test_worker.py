"""The worker process: what it says when it cannot go on."""

import os
import subprocess
import sys

from pipeline.config import Settings
from pipeline.embedded.ports import free_ports


def last_words(**environment):
    """Run a worker to its end; returns its exit code and what it said."""
    ended = subprocess.run(
        [sys.executable, "-m", "agents.worker"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_a_worker_that_finds_no_kafka_says_so_once():
    (port,) = free_ports(1)
    code, said = last_words(**Settings(kafka=f"127.0.0.1:{port}").environment())
    assert code == 1
    assert said.count(f"No Kafka answers at 127.0.0.1:{port} (NEWSBURST_KAFKA)") == 1
    assert "`newsburst doctor`" in said
    assert "Traceback" not in said
    assert "\x1b" not in said


def test_a_worker_with_a_wrong_setting_names_it():
    code, said = last_words(NEWSBURST_THRESHOLD="many")
    assert (code, "NEWSBURST_THRESHOLD='many'" in said, "Traceback" in said) == (1, True, False)
