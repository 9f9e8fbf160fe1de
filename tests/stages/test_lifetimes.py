"""Lifetimes of clusters."""

from pipeline.stages.lifetimes import Lifetimes


def lifetimes_with(**clusters):
    lifetimes = Lifetimes(look_back=10)
    for cluster_id, time in clusters.items():
        lifetimes.come(time, time)
        lifetimes.touch(cluster_id)
    return lifetimes


def test_a_cluster_dies_when_its_last_story_came_before_the_horizon():
    lifetimes = lifetimes_with(a=0, b=5)
    lifetimes.set(10, 10)
    assert list(lifetimes.expire()) == []
    lifetimes.set(11, 11)
    assert list(lifetimes.expire()) == ["a"]
    assert list(lifetimes.expire()) == []


def test_a_story_out_of_order_comes_at_stream_time():
    lifetimes = lifetimes_with(a=0, b=5)
    lifetimes.set(1, 1)
    lifetimes.touch("a")
    lifetimes.set(15, 15)
    assert list(lifetimes.expire()) == []


def test_stream_time_never_goes_back():
    lifetimes = lifetimes_with()
    lifetimes.set(9, 9)
    lifetimes.set(3, 3)
    assert lifetimes.stream_time == 9


def test_a_merged_cluster_lives_on_as_its_survivor():
    lifetimes = lifetimes_with(a=0, b=5, c=6)
    lifetimes.merge("b", "a")
    lifetimes.touch("a")
    lifetimes.merge("a", "c")
    lifetimes.touch("c")
    assert {lifetimes.resolve(cluster_id) for cluster_id in "abc"} == {"c"}
    lifetimes.set(17, 17)
    assert list(lifetimes.expire()) == ["c"]


def test_clusters_that_are_bound_die_together_also_after_one_was_merged():
    lifetimes = lifetimes_with(a=0, b=1, c=2)
    lifetimes.bind(["a", "b"])
    lifetimes.merge("a", "c")
    lifetimes.touch("c")
    lifetimes.set(9, 9)
    lifetimes.touch("c")  # what comes to the survivor keeps the other alive, and the other way round
    lifetimes.set(15, 15)
    assert list(lifetimes.expire()) == []
    lifetimes.touch("b")
    lifetimes.set(24, 24)
    assert list(lifetimes.expire()) == []
    lifetimes.set(26, 26)
    assert set(lifetimes.expire()) == {"b", "c"}
