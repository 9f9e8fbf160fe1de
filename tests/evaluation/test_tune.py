"""Tune: recall and cost from the similarities that a sample has."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.codec import InvalidRecord
from pipeline.evaluation.picture import draw
from pipeline.evaluation.tune import CHOICES, similarities, tune
from pipeline.pictures import PictureError
from pipeline.similarity import universal
from pipeline.stages.rules import ClusterRule, DetectRule
from pipeline.stages.weights import shipped
from tests.make import fingerprinted

texts = st.lists(
    st.tuples(st.sets(st.sampled_from("abcdef"), min_size=1, max_size=4).map(sorted), st.sampled_from("xy")),
    min_size=2,
    max_size=15,
)


def log(count):
    words = ["quake strikes nepal capital", "bank cuts interest rate", "storm nears florida coast"]
    return [(n, fingerprinted(f"s{n}", f"{words[n % 3]} detail{n % 7}", n)) for n in range(count)]


@given(texts)
def test_similarities_are_those_of_all_pairs_that_share_a_token(items):
    found = similarities([tokens for tokens, _ in items], [cluster for _, cluster in items])
    same, other = [], []
    for (left, one), (right, another) in combinations(items, 2):
        shared = len(set(left) & set(right))
        if shared:
            (same if one == another else other).append(shared / len(set(left) | set(right)))
    assert sorted(found.same) == pytest.approx(sorted(same))
    assert sorted(found.other) == pytest.approx(sorted(other))
    assert found.followers == len(items) - len({cluster for _, cluster in items})


def test_more_rows_find_less_and_cost_fewer_false_candidates():
    tuning, _ = tune(log(300), 0.9, ClusterRule(), DetectRule(), shipped())
    recalls = [row.recall for row in tuning.choices]
    false = [row.false_candidates for row in tuning.choices]
    assert recalls == sorted(recalls, reverse=True)
    assert false == sorted(false, reverse=True)
    assert all(bands * rows <= universal.ROWS for bands, rows in CHOICES)
    enough = [row for row in tuning.choices if row.recall >= 0.9]
    cheapest = min(enough, key=lambda row: (row.false_candidates, -row.recall))
    assert (tuning.recommended, tuning.reached) == (cheapest, True)


def test_when_no_choice_is_good_enough_the_best_is_taken_and_said():
    stories = [
        (n, fingerprinted(f"s{n}", f"alpha{n // 2} beta{n} gamma{n} {'shared' * (n % 2)}", n)) for n in range(10)
    ]
    stories += [(10 + n, record) for n, record in log(2)[:1]]
    stories += [(11 + n, fingerprinted(f"t{n}", "quake strikes nepal capital today", 20 + n)) for n in range(2)]
    tuning, _ = tune(stories, 0.999999999999, ClusterRule(), DetectRule(), shipped())
    assert tuning.recommended.recall == max(row.recall for row in tuning.choices)


def test_a_sample_without_company_is_refused():
    stories = [(n, fingerprinted(f"s{n}", f"only{n} alone{n}", n)) for n in range(5)]
    with pytest.raises(InvalidRecord, match="None of the 5 stories"):
        tune(stories, 0.9, ClusterRule(), DetectRule(), shipped())


def test_the_picture_is_written_as_asked(tmp_path):
    tuning, found = tune(log(100), 0.9, ClusterRule(), DetectRule(), shipped())
    for name, magic in (("tune.svg", b"<?xml"), ("tune.png", b"\x89PNG")):
        draw(tuning, found, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(magic)
    with pytest.raises(PictureError, match="Cannot write"):
        draw(tuning, found, tmp_path / "no folder" / "tune.svg")


def test_the_picture_shows_every_choice(tmp_path):
    tuning, found = tune(log(100), 0.9, ClusterRule(), DetectRule(), shipped())
    draw(tuning, found, tmp_path / "tune.svg")
    drawn = (tmp_path / "tune.svg").read_text()
    assert all(f"{row.bands} x {row.rows}" in drawn for row in tuning.choices)
    assert np.isfinite(found.same).all()
