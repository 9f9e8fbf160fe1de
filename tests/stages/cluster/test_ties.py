"""Ties: whatever is tied, merged and dropped, they are those of a dictionary."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pipeline.similarity.centroids import new_centroids, open_group
from pipeline.stages.cluster.ties import drop_ties, merge_ties, tie, ties_between

operations = st.lists(
    st.tuples(st.sampled_from(["tie", "tie", "open", "merge", "drop"]), st.integers(0, 9), st.integers(0, 9))
)


@given(operations)
def test_ties_are_those_of_a_dictionary(steps):
    held, living, expected = new_centroids(4), [], Counter()
    for what, left, right in steps:
        if what == "open" or len(living) < 2:
            living.append(open_group(held))
            continue
        one, other = living[left % len(living)], living[right % len(living)]
        if what == "drop" or one == other:
            drop_ties(held, one)
            living.remove(one)
            expected = Counter({pair: stories for pair, stories in expected.items() if one not in pair})
        elif what == "tie":
            tie(held, one, other, 1)
            expected[frozenset((one, other))] += 1
        else:
            merge_ties(held, one, other)
            living.remove(other)
            merged = Counter()
            for pair, stories in expected.items():
                merged[frozenset(one if group == other else group for group in pair)] += stories
            expected = Counter({pair: stories for pair, stories in merged.items() if len(pair) == 2})
        for first in living:
            for second in living:
                assert ties_between(held, first, second) == expected[frozenset((first, second))] * (first != second)
