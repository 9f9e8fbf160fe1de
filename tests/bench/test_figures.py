"""The benchmarks' bookkeeping: ratios are taken round by round, and a missed target is said."""

import json

import pytest

from bench.figures import absolute, compare, table, write
from bench.news import days, many
from bench.scale import Costs, needs


def measure(*costs):
    left = iter(costs)
    return lambda: next(left)


def test_a_ratio_is_the_median_of_the_rounds_and_not_of_their_parts():
    row = compare("w", "p", measure(1, 10, 3), measure(2, 10, 1), unit="us", target=1.0, rounds=3)
    assert (row.ratio, row.ours, row.theirs, row.ours_range) == (1.0, 3, 2, [1, 10])
    assert row.holds
    assert not compare("w", "p", measure(3), measure(2), unit="us", target=1.4, rounds=1).holds
    assert compare("w", "p", measure(3), measure(2), unit="us", target=1.4, rounds=1, at_most=False).holds


def test_the_table_and_the_file_say_what_misses(tmp_path):
    rows = [absolute("a", "limit", [5.0], 10, "B"), absolute("b", "limit", [50.0], 10, "B")]
    assert "| a | limit | 5 | 10 | B | 0.5 | <= 1 | yes |" in table(rows)
    assert "**no**" in table(rows)
    write(rows, tmp_path / "figures.json")
    read = json.loads((tmp_path / "figures.json").read_text())
    assert [row["holds"] for row in read] == [True, False]
    assert {"work", "against", "ours", "theirs", "unit", "ratio", "target", "holds"} <= set(read[0])


def test_as_many_stories_as_asked_for_each_its_own():
    stories = list(many(60_000))
    assert len({story.id for story in stories}) == 60_000
    assert stories == sorted(stories, key=lambda story: story.crawled_at)
    source = {story.title for story in days()}
    showings = -(-60_000 // len(days()))
    assert len({story.title for story in stories}) > 0.8 * min(60_000, showings * len(source))


def test_needs_grow_with_the_stories():
    costs = Costs(worker=500, broker=100, postgres=200, in_memory=4_000, in_kafka=5_000, in_postgres=3_000)
    small, large = needs(2e6, costs), needs(2e9, costs)
    assert small.workers == 1
    assert small.cores == pytest.approx(2e6 / 86_400 * 3 * 800e-6 / 0.7)
    assert large.window_gigabytes == pytest.approx(1_000 * small.window_gigabytes)
