"""A worker without Kafka and without Postgres: it says so within seconds, in few words, and goes on when they are back."""

import json
import urllib.error
import urllib.request
from collections import Counter

import pytest

from pipeline.config import Settings
from pipeline.embedded.kafka import EmbeddedKafka
from pipeline.embedded.ports import free_ports
from pipeline.embedded.postgres import EmbeddedPostgres
from tests import sample
from tests.agents.test_metrics import scrape
from tests.integration.helpers import prepare, send, wait_for, wait_until_settled, worker


@pytest.fixture
def services(tmp_path):
    """Kafka and Postgres of our own, which can be stopped."""
    kafka_port, postgres_port = free_ports(2)
    servers = (
        EmbeddedKafka(tmp_path / "kafka", port=kafka_port),
        EmbeddedPostgres(tmp_path / "postgres", port=postgres_port),
    )
    for server in servers:
        server.start()
    yield servers
    for server in servers:
        server.stop()


def missing(port):
    """What a worker says that it waits for."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=15) as response:
            return json.load(response)["missing"]
    except urllib.error.HTTPError as refused:
        with refused:
            return json.load(refused)["missing"]


def test_ready_and_lag_are_true_while_services_are_away(services, tmp_path):
    kafka, postgres = services
    (port,) = free_ports(1)
    settings = Settings(kafka=kafka.bootstrap, postgres=postgres.uri, metrics_port=port, log_format="json")
    prepare(settings)
    log = tmp_path / "worker.log"
    lines = sample.lines(600)
    with worker(settings, log) as process:
        wait_for(lambda: _answers(port) and not missing(port))
        postgres.stop()
        assert any("Postgres" in sentence for sentence in wait_for(lambda: missing(port)))
        send(settings, "stories", [(None, line) for line in lines[:300]])
        wait_for(lambda: scrape(port)["newsburst_records_total", "detect", "done"] == 300)
        wait_for(lambda: scrape(port)["newsburst_lag", "assignments"] >= 300)
        wait_for(lambda: scrape(port)["newsburst_postgres_retries_total",] > 0)
        postgres.start()
        wait_for(lambda: not missing(port))
        wait_until_settled(settings, process)
        wait_for(lambda: scrape(port)["newsburst_lag", "assignments"] == 0)

        kafka.process.stop()
        assert any("Kafka" in sentence for sentence in wait_for(lambda: missing(port)))
        kafka.start()
        wait_for(lambda: not missing(port), 120)
        send(settings, "stories", [(None, line) for line in lines[300:]])
        wait_until_settled(settings, process)
        wait_for(
            lambda: not any(scrape(port)["newsburst_lag", topic] for topic in ("stories", "assignments", "events"))
        )

    said = [json.loads(line) for line in log.read_text().splitlines()]
    once = Counter((of["timestamp"][:19], of["level"], of.get("logger"), str(of["event"])[:30]) for of in said)
    assert max(once.values()) <= 2, once.most_common(3)  # a second by the clock can hold the end of one and the next


def _answers(port):
    try:
        missing(port)
    except OSError:
        return False
    return True
