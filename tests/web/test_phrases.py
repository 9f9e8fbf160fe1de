"""Words and charts of pages."""

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.web import charts
from pipeline.web.phrases import by_hour, clock, duration

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("minutes", "said"),
    [(0, "0 min"), (83, "83 min"), (100, "1 h 40 min"), (240, "4 h"), (2879, "47 h 59 min"), (2880, "2 days")],
)
def test_durations(minutes, said):
    assert duration(timedelta(minutes=minutes)).replace("\N{NO-BREAK SPACE}", " ") == said


def test_times_name_the_day_where_it_is_another():
    assert clock(NOON, NOON) == "12:00"
    assert clock(NOON - timedelta(days=1), NOON) == "22 Nov 12:00"
    assert clock(NOON - timedelta(days=400), NOON) == "19 Oct 2025 12:00"


def test_quarters_make_hours():
    assert by_hour({"0": 1, "3": 2, "4": 4, "7": 8, "8": 16}) == [3, 12]


@given(st.lists(st.tuples(st.integers(0, 3_000), st.integers(1, 500)), min_size=1, max_size=60), st.integers(0, 3_000))
def test_a_curve_shows_every_story_within_its_frame(counts, alert):
    bins = sorted(dict(counts).items())
    start = charts.Alert(NOON + alert * charts.QUARTER, NOON, NOON + charts.QUARTER, 16, 12)
    drawn = charts.curve([(NOON + quarter * charts.QUARTER, number) for quarter, number in bins], start, NOON)
    svg = ET.fromstring(drawn)
    assert svg.get("aria-label").startswith(f"{sum(number for _, number in bins)} stories")
    for bar in svg.iter("rect"):
        assert -1 <= float(bar.get("x")) <= charts.WIDTH + 1
        assert 0 <= float(bar.get("height")) <= charts.HEIGHT
        assert float(bar.get("x")) + float(bar.get("width")) <= charts.WIDTH * 1.02
    tallest = max(float(bar.get("height")) for bar in svg.iter("rect") if "bar" in bar.get("class"))
    assert tallest == pytest.approx(charts.HEIGHT - 30, abs=0.1)
