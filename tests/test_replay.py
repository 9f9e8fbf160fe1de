"""Replay: deterministic, and each edition by itself."""

from itertools import chain

from pipeline.replay import replay
from tests.make import fingerprinted


def test_editions_do_not_mix():
    text = "earthquake strike nepal capital"
    stories = [fingerprinted("a", text, 0), fingerprinted("b", text, 1, edition="de"), fingerprinted("c", text, 2)]
    a, b, c = (step.assignment.cluster_id for step in replay(enumerate(stories)))
    assert a == c != b


def test_a_story_that_comes_again_brings_no_step():
    stories = [fingerprinted("a"), fingerprinted("a", minutes=5)]
    assert len(list(replay(enumerate(stories)))) == 1


def test_the_same_log_gives_the_same_records():
    words = ["quake city", "quake city dead", "bank rate cut", "quake toll city", "bank cut"]
    stories = [fingerprinted(f"s{n}", words[n % 5], n) for n in range(100)]
    first, second = (list(replay(enumerate(stories))) for _ in range(2))
    assert first == second
    assert list(chain.from_iterable(step.updates for step in first))
