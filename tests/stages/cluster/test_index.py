"""The stories that can be matched: what is known of each stays as there come more, and goes when it is time."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.stages.cluster import index as story_index
from pipeline.stages.cluster.index import SLOTS, NearbyStories, StoryIndex
from pipeline.stages.rules import ClusterRule
from tests.make import assignment


def test_what_is_known_of_a_story_stays_when_there_are_more_than_there_was_room_for():
    index, count = StoryIndex(ClusterRule()), 3 * SLOTS
    for number in range(count):
        copied = f"s{number - 1}" if number % 3 else None
        index.add(assignment(number, "ca", f"s{number}", duplicate_of=copied), number)
    assert len(index) == count
    numbers = [0, SLOTS, SLOTS + 1, count - 1]
    assert index.names(numbers) == [f"s{number}" for number in numbers]
    assert [index.original(number) for number in numbers] == [
        f"s{number - 1}" if number % 3 else f"s{number}" for number in numbers
    ]
    for horizon in (0, SLOTS - 20, SLOTS + 5, count):
        index.forget(horizon)
        assert len(index) == count - horizon


def test_bodies_are_forgotten_with_their_stories():
    index = StoryIndex(ClusterRule())
    for number in range(6):
        row = assignment(number, "ca", f"s{number}")
        signature = bytes(480) if number % 2 else None
        index.add(msgspec.structs.replace(row, body_signature=signature), number)
    for oldest, same in ((0, 1), (2, 3), (4, 5), (6, None)):
        index.forget(oldest)
        assert index.same_body(bytes(480)) == same


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 2)), max_size=80), st.integers(0, 3))
def test_fingerprints_near_one_are_found_as_long_as_they_count(stream, bits):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(story_index, "FEWEST_STALE", 5)
        nearby, oldest = NearbyStories(), 0
        for number, (fingerprint, forgotten) in enumerate(stream):
            nearby.add(number, fingerprint)
            oldest = min(number + 1, oldest + forgotten)
            nearby.forget(oldest)
            expected = [n for n in range(oldest, number + 1) if (stream[n][0] ^ 5).bit_count() <= bits]
            assert nearby.within(bits, 5).tolist() == expected
