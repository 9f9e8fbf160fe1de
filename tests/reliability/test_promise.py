"""The promise under short schedules of harm; `scripts/soak` has long ones. Each prints its figures."""

import asyncio
import json
import threading
import time
from dataclasses import asdict

import pytest

from pipeline.kafka.admin import check_replicas, check_topics, grow_topics
from tests.integration.helpers import read, wait_until_settled
from tests.reliability.brokers import Brokers
from tests.reliability.feed import feed, messages
from tests.reliability.promise import judge, other_database
from tests.reliability.soak import soak
from tests.reliability.system import System, last_lines

SCHEDULES = {
    "workers killed, ended, frozen, and others in their place": {
        "kill": 4,
        "end": 1,
        "join": 2,
        "leave": 1,
        "freeze": 2,
    },
    "the broker and the database killed": {"broker outage": 1, "database crash": 1, "cut connections": 2},
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SCHEDULES)
def test_what_comes_out_equals_the_replay_when(name, harmed_kafka, tmp_path, capsys):
    with System(tmp_path, kafka=harmed_kafka, shared=True) as system:
        figures, verdict = soak(system, 2_400, 24, seed=len(name), harms=SCHEDULES[name])
    with capsys.disabled():
        print(json.dumps(figures | asdict(verdict)))  # noqa: T201 - the figures are to be seen
    assert verdict.kept, verdict
    assert verdict.stories > 1_400
    assert verdict.revisions > 30
    assert figures["slow or failed ends"] == 0


@pytest.mark.timeout(600)
def test_what_comes_out_equals_the_replay_when_one_of_three_brokers_is_lost_for_good(tmp_path):
    brokers = Brokers(tmp_path / "kafka")
    with System(tmp_path, kafka=brokers, replication=3, standby=True) as system:
        stories = messages(2_000, 3)
        feeding = threading.Thread(target=lambda: sent.update(asyncio.run(feed(system.settings, stories, 12))))
        sent = set()
        system.keep(2)
        assert asyncio.run(check_replicas(system.settings)) == []
        feeding.start()
        time.sleep(6)
        brokers.lose(1)
        time.sleep(2)
        system.kill_worker(system.workers[0])
        system.keep(2)
        feeding.join()
        assert "replicas are lost or behind" in asyncio.run(check_replicas(system.settings))[-1]
        assert all(worker.running for worker in system.workers), [last_lines(worker.log) for worker in system.workers]
        wait_until_settled(system.settings, system.workers[0].process)
        for worker in [*system.workers]:
            assert system.end_worker(worker)[0] == 0
        verdict = judge(system.settings, other_database(system.settings), sent)
    assert verdict.kept, verdict
    assert verdict.stories > 1_100


@pytest.mark.timeout(600)
def test_what_comes_out_equals_the_replay_when_partitions_are_added(harmed_kafka, tmp_path):
    with System(tmp_path, partitions=2, kafka=harmed_kafka, shared=True) as system:
        stories = messages(3_000, 5)
        sent = set()
        for part, partitions in ((stories[:1_500], 2), (stories[1_500:], 4)):
            system.settings = system.settings.model_copy(update={"partitions": partitions})
            grown = asyncio.run(grow_topics(system.settings))
            assert bool(grown) == (partitions > 2)
            assert asyncio.run(check_topics(system.settings)) == []
            system.keep(2)
            sent |= asyncio.run(feed(system.settings, part, 5))
            wait_until_settled(system.settings, system.workers[0].process)
            for worker in [*system.workers]:
                assert system.end_worker(worker)[0] == 0
        used = {record.partition for record in read(system.settings, "fingerprints")}
        verdict = judge(system.settings, other_database(system.settings), sent)
    assert used - {0, 1}, "no edition moved"
    assert verdict.kept, verdict
