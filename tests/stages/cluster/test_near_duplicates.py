"""Near-duplicates: the compiled rule, against the rule as it reads."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.similarity import simhash
from pipeline.similarity.buckets import MIN_SLOTS
from pipeline.similarity.items import WIDTH, new_items, put, token_ids
from pipeline.stages.cluster.near_duplicates import first_near_duplicate
from pipeline.stages.cluster.stage import cluster
from pipeline.stages.cluster.state import ClusterState
from pipeline.stages.rules import ClusterRule, match_rule
from pipeline.times import HOUR
from tests.make import fingerprinted
from tests.stages.cluster.clustering import NOTHING, run

RULE = ClusterRule()


words = st.lists(st.sampled_from("abcdefghijklmnop"), max_size=9, unique=True)


prints = st.integers(0, 2**64 - 1)


flips = st.lists(st.integers(0, 63), max_size=5, unique=True)


scores = st.sampled_from([0.1, 0.39, 0.4, 0.59, 0.6, 0.79, 0.8, 1.0])


def is_copy(score, own, other, own_print, other_print):
    if score >= RULE.duplicate_at:
        return True
    if score >= RULE.duplicate_bits_at and simhash.distance(own_print, other_print) <= RULE.duplicate_bits:
        return True
    shorter, longer = sorted([own, other], key=len)
    return len(shorter) >= RULE.duplicate_beginning and longer[: len(shorter)] == shorter


@given(words, prints, st.lists(st.tuples(words, flips, scores), max_size=6))
def test_the_first_near_duplicate_is_the_first_similar_story_that_the_rule_takes_for_one(own, own_print, others):
    others.sort(key=lambda other: -other[2])
    table, similar = new_items(MIN_SLOTS), np.arange(len(others))
    expected = -1
    for number, (tokens, flipped, score) in enumerate(others):
        other_print = own_print
        for bit in flipped:
            other_print ^= 1 << bit
        put(table, 0, number, token_ids(tokens), simhash.signed(other_print), 0)
        if expected < 0 and score >= RULE.duplicate_least and is_copy(score, own, tokens, own_print, other_print):
            expected = number
    found = first_near_duplicate(
        table,
        similar,
        np.array([score for _, _, score in others]),
        token_ids(own)[:WIDTH],
        simhash.signed(own_print),
        match_rule(RULE, weak=False),
    )
    assert found == expected


def test_a_near_duplicate_names_the_first_of_its_kind():
    edition = ClusterState(NOTHING)
    text = "earthquake strike nepal capital many dead"
    outcomes = run(edition, [fingerprinted(name, text, n) for n, name in enumerate("cba")])
    assert [outcome.assignment.duplicate_of for outcome in outcomes] == [None, "c", "c"]
    assert [similar.story_id for similar in outcomes[2].assignment.similar] == ["c", "b"]
    assert outcomes[2].assignment.similar[0].score == 1.0


@pytest.mark.parametrize("headline", ["same words every time", "same", ""])
def test_ten_thousand_identical_headlines_stay_bounded(headline):
    edition = ClusterState(NOTHING, replace(ClusterRule(), look_back=HOUR))
    for n in range(10_000):
        cluster(edition, fingerprinted(f"s{n}", headline, n / 100), n)
    assert len(edition.index) <= 60 * 100 + 1
    if headline:
        assert len(edition.clusters) == 1


@pytest.mark.parametrize(
    ("first", "second", "copy"),
    [
        ("quake strike nepal capital many dead", "quake strike nepal capital many dead", True),
        ("quake strike nepal capital many dead", "quake strike nepal capital many dead breaking", True),
        ("quake strike nepal capital many dead", "quake strike nepal capital many", True),
        ("quake strike nepal capital many dead", "quake strike nepal village many dead after tremor", False),
        ("quake strike nepal capital many", "quake strike nepal capital many dead after tremor monday", True),
        ("quake strike nepal capital many", "after tremor quake strike nepal capital many dead monday", False),
        ("quake strike nepal capital", "quake strike nepal", False),
    ],
)
def test_near_duplicates_are_linked_to_the_first(first, second, copy):
    edition = ClusterState(NOTHING)
    _, later = run(edition, [fingerprinted("a", first), fingerprinted("b", second, 1)])
    assert later.assignment.duplicate_of == ("a" if copy else None)


def test_a_copied_body_makes_a_near_duplicate_whatever_its_headline():
    body = "The ground shook for a minute, residents of the capital said on Monday. " * 8
    edition = ClusterState(NOTHING)
    first, copy, other = run(
        edition,
        [
            fingerprinted("a", "quake strike nepal capital", body=body),
            fingerprinted("b", "wire report monday", 1, body=body.replace("Monday", "Tuesday", 1)),
            fingerprinted(
                "c", "wire story sunday", 2, body="Shares fell in early trade as banks cut their forecasts. " * 9
            ),
        ],
    )
    assert copy.assignment.duplicate_of == "a"
    assert copy.assignment.cluster_id == first.assignment.cluster_id
    assert other.assignment.duplicate_of is None
