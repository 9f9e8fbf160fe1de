"""The demo and `up` as processes: what they show, what they leave behind."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests import sample

NEWSBURST = str(Path(sys.executable).with_name("newsburst"))


@pytest.fixture
def environment(tmp_path):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NEWSBURST_")}
    return clean | {"NEWSBURST_DATA": str(tmp_path / "data"), "COLUMNS": "140"}


def processes(folder):
    """The processes whose command line names this folder."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if str(folder) in " ".join(process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def kill(parent, chosen):
    """Kill those below a process whose commands are chosen; some come and go, as Postgres' own do."""
    for child in psutil.Process(parent.pid).children(recursive=True):
        with suppress(psutil.Error):
            if chosen(child.cmdline()):
                child.kill()


def wait_for_line(path, text, process, seconds=120):
    deadline = time.monotonic() + seconds
    while text not in path.read_text():
        assert process.poll() is None, path.read_text()
        assert time.monotonic() < deadline, path.read_text()
        time.sleep(0.2)


def newsburst(environment, *arguments):
    done = subprocess.run([NEWSBURST, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_demo_shows_events_counts_stories_and_leaves_nothing_behind(environment, tmp_path):
    path = sample.write(tmp_path / "sample.jsonl", 1_500)
    options = ["--exit", "--speed", "36000", "--file", str(path), "--json", str(tmp_path / "counts.json")]
    shown = newsburst(environment, "demo", *options)
    counts = json.loads((tmp_path / "counts.json").read_text())
    assert list(counts) == ["stories", "clusters", "events", "dead_letters", "seconds"]
    assert (counts["stories"], counts["dead_letters"]) == (1500, 0)
    assert counts["events"] == shown.count("breaking ") > 0
    assert "after the story that broke it" in shown
    assert processes(tmp_path) == []


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_services_and_worker_end_with_up_however_it_ends(environment, tmp_path, end):
    output = tmp_path / "output"
    with output.open("w") as shown:
        process = subprocess.Popen([NEWSBURST, "up"], env=environment, stdout=shown, stderr=subprocess.STDOUT)
    wait_for_line(output, "Ctrl-C stops all", process)
    assert processes(tmp_path)
    if end is signal.SIGINT:  # the other commands find what runs here
        sent = subprocess.run([NEWSBURST, "doctor"], env=environment, capture_output=True, text=True, check=False)
        assert sent.returncode == 0, sent.stdout
        assert "breaking" in newsburst(environment, "report", "breaking").lower()
        kill(process, lambda command: command[-2:] == ["pipeline.command", "push"])  # it is started again
        wait_for_line(output, "push ended and is started again", process)
    process.send_signal(end)
    assert process.wait(40) == {signal.SIGINT: 0, signal.SIGTERM: 143, signal.SIGKILL: -9}[end]
    deadline = time.monotonic() + 30
    while processes(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert processes(tmp_path) == []


def test_up_ends_and_says_so_when_a_service_ends(environment, tmp_path):
    output = tmp_path / "output"
    with output.open("w") as shown:
        process = subprocess.Popen([NEWSBURST, "up"], env=environment, stdout=shown, stderr=subprocess.STDOUT)
    wait_for_line(output, "Ctrl-C stops all", process)
    kill(process, lambda command: "/bin/postgres" in " ".join(command[:1]))
    assert process.wait(60) == 1
    assert "The postgres ended" in output.read_text()
    assert processes(tmp_path) == []
