"""The members of an event: all that it counts, which of them are strays, and nothing lost in packing."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.stages.detect.members import Member, members_of, pack, unpack
from pipeline.stages.detect.state import DetectState
from pipeline.stages.detect.window_story import keep
from pipeline.times import HOUR, to_micros
from tests.make import NOON, assignment
from tests.stages.detect.counting import RULE, revisions, run, stories
from tests.stages.detect.test_state import revised_and_living, streams

members = st.builds(
    Member,
    st.integers(0, 2**50),
    st.integers(-(2**60), 2**60),
    st.integers(0, 100),
    st.booleans(),
)


@given(st.lists(members, max_size=40))
def test_what_is_packed_comes_out(made):
    made.sort()
    assert list(unpack(pack(made))) == made


def test_a_member_takes_about_nine_bytes():
    made = [Member(1_000_000 + 3 * n, 1_400_000_000_000_000 + n * HOUR // 60, 70) for n in range(1_000)]
    assert len(pack(made)) < 10 * len(made)


@given(streams, revisions)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_an_update_has_as_many_members_as_it_says(stream, revisions):
    for update in run(DetectState(RULE), revised_and_living(stories(stream), revisions)):
        of_update = list(unpack(update.members))
        assert len(of_update) == len({member.position for member in of_update}) == update.stories_total
        assert {to_micros(story.crawled_at) for story in update.stories} <= {member.time for member in of_update}


def of_texts(*told):
    """The members of an event that broke from 10:00 to 11:00, of stories with these hours and texts; by story."""
    kept = [
        keep(assignment(number, "c", f"s{number}", text, hour * 60), to_micros(NOON) + round(hour * HOUR))
        for number, (hour, text) in enumerate(told)
    ]
    broke = to_micros(NOON) + 10 * HOUR, to_micros(NOON) + 11 * HOUR
    return members_of(sorted(kept), broke, 4 * HOUR)


QUAKE = "quake city dead"


def strays(*told):
    return [member.position for member in of_texts(*told) if member.is_stray]


def test_what_shares_nothing_with_the_others_is_a_stray():
    told = [(10 + n / 10, QUAKE) for n in range(7)]
    assert strays(*told[:1], (10.05, "gold futures rise"), *told[1:]) == [1]


LIKE = "quake town help"
"""Near the centre of quakes, but not very near."""


def test_what_came_long_before_the_event_is_a_stray_and_what_led_to_it_is_not():
    assert strays((1, LIKE), (5.5, LIKE), (8, QUAKE), (10, QUAKE), (10.5, QUAKE)) == [0]


def test_what_reads_like_the_event_is_none_however_early_it_came():
    assert strays((1, QUAKE), (8, QUAKE), (10, QUAKE), (10.5, QUAKE)) == []


def test_strays_do_not_bridge_the_gap():
    assert strays((2, LIKE), (5, "gold futures rise"), (8, QUAKE), (10, QUAKE), (11, QUAKE)) == [0, 1]


def test_stories_without_any_words_are_all_kept():
    assert [member.position for member in of_texts((10, "a b"), (10.5, "c d"))] == [0, 1]
    assert of_texts() == []
