"""Exact times."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from pipeline.times import from_micros, from_millis, to_micros


@given(st.datetimes(timezones=st.just(UTC)))
def test_microseconds_keep_a_time_exactly(time):
    assert from_micros(to_micros(time)) == time


def test_a_kafka_time_stamp_is_in_milliseconds():
    assert from_millis(1_714_564_800_123) == datetime(2024, 5, 1, 12, 0, 0, 123_000, tzinfo=UTC)
