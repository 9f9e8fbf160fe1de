"""A standby: whoever takes over has the state at once, and it is the owner's."""

import time

import pytest

from pipeline.embedded.processes import SAYS_READY
from tests import sample
from tests.integration.helpers import prepare, send, start, wait_for, wait_until_settled
from tests.reliability.promise import judge, other_database

TAKEN = "taken over from the standby"


@pytest.fixture
def workers(settings, tmp_path):
    """Starts workers that keep all states, each with its log; ends what is left of them."""
    settings = settings.model_copy(update={"standby": True, "session_seconds": 1.0, "log_level": "INFO"})
    started, logs = [], []

    def begin():
        log = tmp_path / f"worker{len(started)}.log"
        started.append((start(settings, log), log))
        logs.append(log)
        return started[-1]

    begin.logs = logs
    yield begin
    for process, _ in started:
        process.kill()
        process.wait()


def test_whoever_takes_over_from_the_standby_goes_on_as_the_owner_would(settings, workers, new_database):
    prepare(settings)
    lines = sample.lines(2_000)
    running = [workers(), workers()]
    for _, log in running:
        wait_for(lambda log=log: SAYS_READY in log.read_text())
    for begin in (0, 1_000):
        send(settings, "stories", [(None, line) for line in lines[begin : begin + 500]])
        time.sleep(1)
        victim, _ = running.pop(0)  # either may own the edition: each is killed in its turn
        victim.kill()
        victim.wait()
        running.append(workers())
        send(settings, "stories", [(None, line) for line in lines[begin + 500 : begin + 1_000]])
        wait_until_settled(settings, running[0][0])
        wait_for(lambda log=running[1][1]: SAYS_READY in log.read_text())
    verdict = judge(settings, other_database(settings))
    assert verdict.kept, verdict
    assert verdict.stories == 2_000
    assert any(TAKEN in log.read_text() for log in workers.logs)
