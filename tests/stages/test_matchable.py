"""The stories that can be matched: what is known of each stays as there come more, and goes when it is time."""

import msgspec

from pipeline.similarity.buckets import SMALLEST
from pipeline.stages.matchable import Matchable
from pipeline.stages.rules import ClusterRule
from tests.make import assignment


def test_what_is_known_of_a_story_stays_when_there_are_more_than_there_was_room_for():
    matchable, count = Matchable(ClusterRule()), 3 * SMALLEST
    for number in range(count):
        copied = f"s{number - 1}" if number % 3 else None
        assert matchable.add(assignment(number, "ca", f"s{number}", duplicate_of=copied), number) == number
    assert len(matchable) == count
    numbers = [0, SMALLEST, SMALLEST + 1, count - 1]
    assert matchable.names(numbers) == [f"s{number}" for number in numbers]
    assert [matchable.original(number) for number in numbers] == [
        f"s{number - 1}" if number % 3 else f"s{number}" for number in numbers
    ]
    for horizon in (0, SMALLEST - 20, SMALLEST + 5, count):
        matchable.forget(horizon)
        assert len(matchable) == count - horizon


def test_bodies_are_forgotten_with_their_stories():
    matchable = Matchable(ClusterRule())
    for number in range(6):
        row = assignment(number, "ca", f"s{number}")
        signature = bytes(480) if number % 2 else None
        matchable.add(msgspec.structs.replace(row, body_signature=signature), number)
    assert [number for number, _ in matchable.with_body.values()] == [1, 3, 5]
    matchable.forget(2)
    assert [number for number, _ in matchable.with_body.values()] == [3, 5]
    matchable.forget(4)
    assert [number for number, _ in matchable.with_body.values()] == [5]
    assert matchable.bodies.next - matchable.bodies.oldest == 1
