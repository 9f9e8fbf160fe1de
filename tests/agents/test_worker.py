"""The worker process: what it says when it cannot go on, and what it waits for."""

import asyncio
import signal
import time

import pytest

from pipeline.config import Settings
from pipeline.embedded.kafka import EmbeddedKafka
from pipeline.embedded.ports import free_ports
from pipeline.embedded.processes import SAYS_READY
from pipeline.kafka.admin import create_topics
from tests.integration.helpers import last_words, prepare, send, start, wait_for, worker

STORY = b"""{"url": "https://e.com/", "title": "Quake hits city", "publisher": "Daily", "crawled_at": "2024-05-01T12:00:00Z"}"""


def test_a_worker_waits_for_a_kafka_that_is_away_and_says_so(settings, tmp_path):
    log = tmp_path / "worker.log"
    (port,) = free_ports(1)
    server = EmbeddedKafka(tmp_path / "kafka", port=port)
    away = settings.model_copy(update={"kafka": f"127.0.0.1:{port}"})
    with worker(away, log) as process:
        wait_for(lambda: f"No Kafka answers at 127.0.0.1:{port} (NEWSBURST_KAFKA)" in log.read_text())
        try:
            server.start()
            asyncio.run(create_topics(away))
            wait_for(lambda: SAYS_READY in log.read_text())
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        finally:
            server.stop()
    said = log.read_text()
    assert "Traceback" not in said
    assert "\x1b" not in said


def test_a_worker_that_waits_for_kafka_ends_when_it_is_told_to(tmp_path):
    log = tmp_path / "worker.log"
    (port,) = free_ports(1)
    with worker(Settings(kafka=f"127.0.0.1:{port}"), log):
        wait_for(lambda: "waiting for Kafka" in log.read_text())


def test_a_worker_ends_when_it_is_told_to_while_the_database_is_away(settings, tmp_path):
    log = tmp_path / "worker.log"
    (port,) = free_ports(1)
    prepare(settings)
    with worker(settings.model_copy(update={"postgres": f"postgresql://127.0.0.1:{port}/away"}), log):
        send(settings, "stories", [(b"en", STORY)])
        wait_for(lambda: "Postgres did not take a batch" in log.read_text())
    assert "nothing is lost" in log.read_text()


def test_a_worker_with_a_wrong_setting_names_it():
    code, said = last_words(NEWSBURST_THRESHOLD="many")
    assert (code, "NEWSBURST_THRESHOLD='many'" in said, "Traceback" in said) == (1, True, False)


@pytest.mark.parametrize("after", [0.0, 0.4, 1.0, 2.0])
def test_a_worker_that_is_told_to_end_while_it_starts_ends_in_peace(settings, tmp_path, after):
    """As `newsburst worker` starts it: it hears what it was told when it has loaded."""
    prepare(settings)
    log = tmp_path / "worker.log"
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # which the process takes over
    process = start(settings, log)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    time.sleep(after)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0, log.read_text()
    assert "Traceback" not in log.read_text()
