"""Centroids: sums by group in one table, against dicts."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.similarity import centroids
from pipeline.similarity.centroids import (
    DOCUMENTS,
    EMPTY,
    SUM,
    add,
    count_documents,
    dot,
    drop_group,
    merge_groups,
    new_centroids,
    open_group,
    place,
)

vectors = st.dictionaries(st.integers(0, 12), st.integers(1, 65_536), min_size=1, max_size=5)
actions = st.lists(
    st.tuples(st.sampled_from(["open", "add", "add", "add", "merge", "drop"]), vectors, st.randoms()), max_size=60
)


def read(table, group):
    owners, entries, found = table.owners, table.entries, {}
    for token in range(13):
        entry = place(owners, group, token)
        if owners[entry] != EMPTY:
            found[token] = (int(entries[entry, SUM]), int(entries[entry, DOCUMENTS]))
    return found


@given(actions)
@settings(deadline=None)
def test_groups_hold_what_was_added_merged_and_not_dropped(actions):
    table, groups = new_centroids(8), {}
    counted = open_group(table)
    for action, vector, random in actions:
        if action == "open" or not groups:
            groups[open_group(table)] = {}
            continue
        group = random.choice(sorted(groups))
        if action == "add":
            held = random.randint(0, len(vector))
            square = sum(total**2 for total, _ in groups[group].values())
            ids, weights = np.array(list(vector)), np.array(list(vector.values()))
            grown = add(table, group, ids, weights, held, counted)
            for index, (token, weight) in enumerate(vector.items()):
                total, holding = groups[group].get(token, (0, 0))
                groups[group][token] = (total + weight, holding + (index < held))
            assert square + grown == sum(total**2 for total, _ in groups[group].values())
        elif action == "merge" and len(groups) > 1:
            other = random.choice([other for other in sorted(groups) if other != group])
            product = sum(total * groups[other].get(token, (0, 0))[0] for token, (total, _) in groups[group].items())
            assert dot(table, group, other) == dot(table, other, group) == product
            square = sum(total**2 for total, _ in groups[group].values())
            grown = merge_groups(table, group, other, counted)
            for token, (more, holding) in groups.pop(other).items():
                total, held = groups[group].get(token, (0, 0))
                groups[group][token] = (total + more, held + holding)
            assert square + grown == sum(total**2 for total, _ in groups[group].values())
        elif action == "drop":
            drop_group(table, group, counted)
            del groups[group]
        for known, expected in groups.items():
            assert read(table, known) == expected
        still = {token for sums in groups.values() for token in sums}
        held_by_all = {token: sum(sums.get(token, (0, 0))[1] for sums in groups.values()) for token in still}
        spread = {token: sum(sums.get(token, (0, 0))[1].bit_length() for sums in groups.values()) for token in still}
        counts = read(table, counted)
        assert {token: counted for token, counted in counts.items() if any(counted)} == {
            token: (spread[token], holding) for token, holding in held_by_all.items() if holding
        }


def test_the_table_does_not_grow_with_what_comes_and_goes():
    table = new_centroids()
    counted = open_group(table)
    for _ in range(2_000):
        group = open_group(table)
        add(table, group, np.arange(10), np.full(10, 7), 10, counted)
        drop_group(table, group, counted)
    assert read(table, counted)[9] == (0, 0)
    assert len(table.entries) == centroids.MIN_SLOTS


def test_words_that_nothing_holds_any_more_go():
    table = new_centroids()
    group = open_group(table)
    for start in range(0, 40_000, 10):
        ids = np.arange(start, start + 10)
        count_documents(table, group, ids, np.ones(10, np.int64))
        count_documents(table, group, ids, np.full(10, -1))
    assert len(table.entries) == centroids.MIN_SLOTS


def test_merging_says_by_how_much_the_square_grew():
    table = new_centroids()
    counted, one, other = open_group(table), open_group(table), open_group(table)
    add(table, one, np.array([1, 2]), np.array([3, 5]), 2, counted)
    add(table, other, np.array([2, 7]), np.array([4, 6]), 2, counted)
    assert 3**2 + 5**2 + merge_groups(table, one, other, counted) == 3**2 + (5 + 4) ** 2 + 6**2
