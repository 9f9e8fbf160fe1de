"""Volume: what is usual at an hour, and how unusual a burst is."""

from hypothesis import given
from hypothesis import strategies as st

from pipeline.stages.detect.volume import Volume, burst_score
from pipeline.times import DAY, HOUR

START = 20_000 * DAY


def filled(per_hour, hours, horizon=START):
    volume = Volume()
    for hour in range(hours):
        for _ in range(per_hour(hour % 24)):
            volume.add(START + hour * HOUR + 1, horizon)
    return volume


def test_the_usual_is_that_of_the_same_hours_of_the_days_before():
    volume = filled(lambda hour: 10 if 8 <= hour < 20 else 1, 72)
    noon, midnight = START + 3 * DAY + 12 * HOUR, START + 3 * DAY + 3 * HOUR
    assert volume.usual(noon - 1, 4 * HOUR) > 5 * volume.usual(midnight - 1, 4 * HOUR)


def test_without_a_day_before_the_usual_is_the_mean():
    volume = filled(lambda _: 6, 10)
    assert volume.usual(START + 14 * HOUR, 4 * HOUR) == 24


def test_nothing_is_usual_of_an_edition_without_past():
    assert Volume().usual(START, 4 * HOUR) == 0


@given(st.lists(st.integers(0, 100), max_size=60), st.integers(0, 60))
def test_the_volume_is_that_of_the_stories_within_reach(hours, reach):
    """Whatever older stories were counted before the horizon passed them."""
    all_, kept = Volume(), Volume()
    horizon = START + reach * HOUR
    for hour in hours:
        all_.add(START + hour * HOUR, START)
    for hour in hours:
        if hour > reach:
            kept.add(START + hour * HOUR, horizon)
    all_.add(START + 200 * HOUR, horizon)
    kept.add(START + 200 * HOUR, horizon)
    for end in range(reach, 110, 7):
        assert all_.usual(START + end * HOUR, 4 * HOUR) == kept.usual(START + end * HOUR, 4 * HOUR)


def test_a_burst_is_more_unusual_where_less_is_expected():
    assert burst_score(16, 0.0) == 16
    assert burst_score(16, 6.0) < burst_score(16, 1.0)
    assert burst_score(6, 6.0) == 0
