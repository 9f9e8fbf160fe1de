"""Copies: the compiled rule, against the rule as it reads."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.similarity import simhash
from pipeline.similarity.buckets import MIN_SLOTS
from pipeline.similarity.items import WIDTH, new_items, put, token_ids
from pipeline.stages.cluster.near_duplicates import first_copy
from pipeline.stages.rules import ClusterRule, match_rule

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
def test_the_first_copy_is_the_first_similar_story_that_the_rule_takes_for_one(own, own_print, others):
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
    found = first_copy(
        table,
        similar,
        np.array([score for _, _, score in others]),
        token_ids(own)[:WIDTH],
        simhash.signed(own_print),
        match_rule(RULE),
    )
    assert found == expected
