"""The measures, on cases worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.evaluation.metrics import bcubed, pairwise

items = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1, max_size=30)


def test_bcubed_on_a_worked_case():
    # Cluster a: x x y; cluster b: y. Precision (2/3 + 2/3 + 1/3 + 1) / 4, recall (1 + 1 + 1/2 + 1/2) / 4.
    result = bcubed("aaab", "xxyy")
    assert result.precision == pytest.approx(2 / 3)
    assert result.recall == pytest.approx(3 / 4)
    assert result.f1 == pytest.approx(12 / 17)


def test_pairs_on_a_worked_case():
    # Pairs together: (1,2) right, (1,3) and (2,3) wrong; of the label pairs (1,2) and (3,4) one is found.
    result = pairwise("aaab", "xxyy")
    assert result.precision == pytest.approx(1 / 3)
    assert result.recall == pytest.approx(1 / 2)


@given(items)
def test_bcubed_is_the_mean_over_items(pairs):
    clusters, labels = zip(*pairs, strict=True)
    precision = recall = 0.0
    for cluster, label in pairs:
        both = pairs.count((cluster, label))
        precision += both / clusters.count(cluster) / len(pairs)
        recall += both / labels.count(label) / len(pairs)
    assert bcubed(clusters, labels)[:2] == pytest.approx((precision, recall))


@given(items)
def test_a_perfect_clustering_scores_one(pairs):
    labels = [label for _, label in pairs]
    assert bcubed(labels, labels) == (1, 1, 1)


def test_nothing_scores_nothing():
    assert bcubed([], []) == (0, 0, 0)
    assert pairwise([], []) == (0, 0, 0)
