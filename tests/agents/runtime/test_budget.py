"""The budget of processor time."""

import time

import pytest

from agents.runtime.budget import TooSlow, budget


def busy(seconds):
    """Compute for so long."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_what_takes_longer_is_interrupted():
    with pytest.raises(TooSlow, match=r"more than 0\.2 s of processor time"), budget(0.2):
        busy(20)


def test_waiting_costs_nothing():
    with budget(0.2):
        time.sleep(0.5)


def test_each_piece_of_work_has_a_budget_of_its_own():
    with budget(0.5) as begin_next:
        for _ in range(8):
            begin_next()
            busy(0.15)


def test_what_was_in_time_is_not_interrupted_later():
    with budget(0.2):
        busy(0.05)
    busy(0.4)


def test_one_story_that_takes_too_long_stops_no_other():
    done, late = [], []
    with budget(0.2) as begin_next:
        for seconds in (0.01, 20, 0.01):
            begin_next()
            try:
                busy(seconds)
            except TooSlow:
                late.append(seconds)
            else:
                done.append(seconds)
    assert (done, late) == ([0.01, 0.01], [20])
