"""The measures, on cases worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, pair_confusion_matrix

from pipeline.evaluation.metrics import adjusted_rand, bcubed, mutual_information, pairwise

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


@given(items)
def test_the_adjusted_rand_index_is_that_of_scikit_learn(pairs):
    clusters, labels = zip(*pairs, strict=True)
    assert adjusted_rand(clusters, labels) == pytest.approx(adjusted_rand_score(labels, clusters))


@given(items)
def test_mutual_information_is_that_of_scikit_learn(pairs):
    clusters, labels = zip(*pairs, strict=True)
    assert mutual_information(clusters, labels) == pytest.approx(normalized_mutual_info_score(labels, clusters))


@given(items)
def test_pairs_are_those_of_scikit_learn(pairs):
    clusters, labels = zip(*pairs, strict=True)
    (_, wrong), (missed, right) = pair_confusion_matrix(labels, clusters)
    found = pairwise(clusters, labels)
    assert found.precision == pytest.approx(right / (right + wrong) if right + wrong else 0)
    assert found.recall == pytest.approx(right / (right + missed) if right + missed else 0)


def test_bcubed_prefers_as_amigo_and_others_ask():
    """The four constraints of Amigo, Gonzalo, Artiles and Verdejo 2009, with small cases like the paper's."""
    # Homogeneity: a cluster of two labels is worse than one for each.
    assert bcubed("aaaa", "xxyy").f1 < bcubed("aabb", "xxyy").f1
    # Completeness: a label in two clusters is worse than in one.
    assert bcubed("aabb", "xxxx").f1 < bcubed("aaaa", "xxxx").f1
    # Rag bag: a stranger does less harm among strangers than in a clean cluster.
    assert bcubed("aaaabbbbb", "xxxxyzuvw").f1 > bcubed("aaaaabbbb", "xxxxyzuvw").f1
    # Size against quantity: one error in a large label is better than many in small ones.
    assert bcubed("aaaabccddee", "xxxxx112233").f1 > bcubed("aaaaacdefgh", "xxxxx112233").f1


def test_measures_of_one_item():
    assert adjusted_rand("a", "x") == mutual_information("a", "x") == 1
