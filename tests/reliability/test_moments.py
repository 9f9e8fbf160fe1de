"""Workers that die at the worst moments, one after another: inside a transaction, behind it, while they load, in a rebalance."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.integration.helpers import wait_until_settled
from tests.reliability.feed import feed, messages
from tests.reliability.promise import judge, other_database
from tests.reliability.system import System, last_lines

DYING = str(Path(__file__).with_name("dying_worker.py"))
MOMENTS = {
    "stories sent on, not acknowledged": "after agents.runtime.producer PackedProducer _send 2",
    "rows and other messages with the broker, the transaction open": "before aiokafka AIOKafkaProducer commit_transaction 3",
    "a transaction committed, not acknowledged": "after aiokafka AIOKafkaProducer commit_transaction 4",
    "partitions assigned to one state store, not to the other": "after agents.runtime.state StateStore _keep_what_stays 1",
    "rows read, nothing built from them": "after agents.runtime.state StateStore _read 2",
    "state built, the stage before it not": "after agents.runtime.state StateStore _build 1",
    "everything written to Postgres, not committed": "before sqlalchemy.engine RootTransaction commit 2",
    "committed in Postgres, not acknowledged": "after pipeline.storage.write Writer write_acceptable 2",
    "acknowledged, not told to the broker": "after agents.transport.chunks Chunk ack 6",
}


@pytest.mark.timeout(600)
def test_what_comes_out_equals_the_replay_when_workers_die_at_the_worst_moments(harmed_kafka, tmp_path):
    stories, sent = messages(250 * len(MOMENTS), 8), set()
    with System(tmp_path, kafka=harmed_kafka, shared=True) as system:
        for number, (moment, how) in enumerate(MOMENTS.items()):
            sent |= asyncio.run(feed(system.settings, stories[250 * number : 250 * (number + 1)], 1))
            worker = system.start_worker(DYING, *how.split())
            assert worker.process.wait(90) == -signal.SIGKILL, (moment, last_lines(worker.log))
            system.workers.remove(worker)
        worker = system.start_worker()
        wait_until_settled(system.settings, worker.process)
        assert system.end_worker(worker)[0] == 0
        verdict = judge(system.settings, other_database(system.settings), sent)
    assert verdict.kept, verdict
    assert verdict.stories > 1_200
