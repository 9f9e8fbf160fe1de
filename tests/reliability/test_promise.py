"""The promise under short schedules of harm; `scripts/soak` has long ones. Each prints its figures."""

import json
from dataclasses import asdict

import pytest

from tests.reliability.soak import soak
from tests.reliability.system import System

SCHEDULES = {
    "workers killed, ended, and others in their place": {"kill": 4, "end": 1, "join": 1, "leave": 1},
    "workers frozen past their session": {"freeze": 2, "join": 1},
    "the broker and the database killed": {"broker outage": 1, "database crash": 1, "cut connections": 2},
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SCHEDULES)
def test_what_comes_out_equals_the_replay_when(name, tmp_path, capsys):
    with System(tmp_path) as system:
        figures, verdict = soak(system, 4_000, 40, seed=len(name), harms=SCHEDULES[name])
    with capsys.disabled():
        print(json.dumps(figures | asdict(verdict)))  # noqa: T201 - the figures are to be seen
    assert verdict.kept, verdict
    assert verdict.stories > 2_500
    assert figures["slow or failed ends"] == 0
