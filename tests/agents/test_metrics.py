"""What a worker says of itself: every metric is there from the start, and tells what has happened."""

import time
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from agents.runtime.metrics import OUTCOMES
from pipeline.embedded.ports import free_ports
from pipeline.embedded.processes import SAYS_READY
from pipeline.kafka.topics import STREAMS
from tests import sample
from tests.integration.helpers import prepare, send, wait_for, wait_until_settled, worker


def scrape(port):
    """The samples of a worker, by name and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
        families = list(text_string_to_metric_families(response.read().decode()))
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value for family in families for sample in family.samples
    }


def test_metrics_are_preset_and_then_tell_what_happened(settings, tmp_path):
    (port,) = free_ports(1)
    prepare(settings)
    log = tmp_path / "worker.log"
    with worker(settings.model_copy(update={"metrics_port": port}), log) as process:
        wait_for(lambda: SAYS_READY in log.read_text())
        first = scrape(port)
        for stage, outcomes in OUTCOMES.items():
            for outcome in outcomes:
                assert first["newsburst_records_total", *sorted([outcome, stage])] == 0
        assert first["newsburst_event_updates_total", "started"] == 0

        lines = sample.lines(600)
        send(settings, "stories", [(None, line) for line in [*lines, b"no story"]])
        wait_until_settled(settings, process)
        wait_for(lambda: scrape(port).get(("newsburst_dead_letters_waiting",)) == 1)
        wait_for(lambda: scrape(port)["newsburst_state_rows", "cluster", "stories"] == 600)
        found = scrape(port)
    assert {found["newsburst_lag", topic] for topic in STREAMS} == {0}
    for stage in ("normalise", "fingerprint", "cluster", "detect", "store"):
        assert found["newsburst_batch_seconds_count", stage] > 0
        assert found["newsburst_last_commit_timestamp_seconds", stage] > 1e9
    assert found["newsburst_records_total", "dead", "normalise"] == 1
    assert found["newsburst_state_rows", "detect", "stories"] == 600
    assert found["newsburst_state_rows", "cluster", "clusters"] == found["newsburst_state_rows", "clusters", "detect"]
    assert found["newsburst_candidates_count",] == 600
    assert 0 < found["newsburst_bucket_fill_ratio",] < 1
    assert found["newsburst_state_bytes",] > 1e6
    assert found["newsburst_postgres_writes_total",] > 0
    assert found["newsburst_load_seconds_count", "cluster"] > 0
    assert 1.39e9 < found["newsburst_stream_time_seconds", "en"] < 1.4e9
    assert found["newsburst_partitions",] > 0


def test_a_worker_that_starts_again_has_no_lag_where_nothing_waits(settings, tmp_path):
    (port,) = free_ports(1)
    prepare(settings)
    log = tmp_path / "worker.log"
    with worker(settings, log) as process:
        send(settings, "stories", [(None, line) for line in sample.lines(50)])
        wait_until_settled(settings, process)
    log.write_text("")
    with worker(settings.model_copy(update={"metrics_port": port}), log):
        wait_for(lambda: SAYS_READY in log.read_text())
        wait_for(lambda: scrape(port)["newsburst_partitions",] > 0)
        time.sleep(1.5)  # a look further
        found = scrape(port)
    assert {topic: found["newsburst_lag", topic] for topic in STREAMS} == dict.fromkeys(STREAMS, 0)
    assert found["newsburst_ready",] == 1
