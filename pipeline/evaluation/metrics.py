"""Measures of a clustering against labels: B-cubed (Bagga and Baldwin 1998; Amigo et al. 2009), pairwise, ARI and NMI."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Scores(NamedTuple):
    """Precision, recall and their harmonic mean, each 0 to 1."""

    precision: float
    recall: float
    f1: float


def scores(precision: float, recall: float) -> Scores:
    """Both with their harmonic mean; 0 where both are 0."""
    total = precision + recall
    return Scores(precision, recall, 2 * precision * recall / total if total else 0.0)


class ItemScores(NamedTuple):
    """B-cubed precision and recall of each item, in their order."""

    precision: list[float]
    recall: list[float]


def bcubed_of_items(clusters: Sequence[str], labels: Sequence[str], groups: Sequence[str] | None = None) -> ItemScores:
    """How pure the cluster of each item is for the item's label, and how complete; complete for its group, if there are groups.

    `clusters`, `labels` and `groups` name those of each item, in the same order.
    """
    wholes = labels if groups is None else groups
    by_cluster, by_whole = Counter(clusters), Counter(wholes)
    with_label, with_whole = Counter(zip(clusters, labels, strict=True)), Counter(zip(clusters, wholes, strict=True))
    return ItemScores(
        [with_label[pair] / by_cluster[pair[0]] for pair in zip(clusters, labels, strict=True)],
        [with_whole[pair] / by_whole[pair[1]] for pair in zip(clusters, wholes, strict=True)],
    )


def bcubed(clusters: Sequence[str], labels: Sequence[str], groups: Sequence[str] | None = None) -> Scores:
    """B-cubed: the mean over items of how pure the item's cluster is for its label, and how complete. No items: all 0."""
    if not labels:
        return scores(0.0, 0.0)
    precision, recall = bcubed_of_items(clusters, labels, groups)
    return scores(math.fsum(precision) / len(labels), math.fsum(recall) / len(labels))


def pairwise(clusters: Sequence[str], labels: Sequence[str]) -> Scores:
    """Of the pairs in one cluster, the share in one label; of the pairs in one label, the share in one cluster."""
    together = _pairs(Counter(zip(clusters, labels, strict=True)))
    in_cluster, in_label = _pairs(Counter(clusters)), _pairs(Counter(labels))
    return scores(together / in_cluster if in_cluster else 0.0, together / in_label if in_label else 0.0)


def _pairs(counts: Counter[str] | Counter[tuple[str, str]]) -> int:
    return sum(count * (count - 1) // 2 for count in counts.values())


def adjusted_rand(clusters: Sequence[str], labels: Sequence[str]) -> float:
    """The adjusted Rand index (Hubert and Arabie 1985): 1 for equal partitions, about 0 for independent ones."""
    together = _pairs(Counter(zip(clusters, labels, strict=True)))
    in_cluster, in_label = _pairs(Counter(clusters)), _pairs(Counter(labels))
    pairs = len(labels) * (len(labels) - 1) // 2
    if not pairs:
        return 1.0
    expected = in_cluster * in_label / pairs
    largest = (in_cluster + in_label) / 2
    return (together - expected) / (largest - expected) if largest != expected else 1.0


def mutual_information(clusters: Sequence[str], labels: Sequence[str]) -> float:
    """Normalised mutual information: that of clusters and labels over the mean of their entropies; 1 for equal partitions."""
    items = len(labels)
    by_cluster, by_label = Counter(clusters), Counter(labels)
    shared = sum(
        count / items * math.log(items * count / (by_cluster[cluster] * by_label[label]))
        for (cluster, label), count in Counter(zip(clusters, labels, strict=True)).items()
    )
    entropies = _entropy(by_cluster, items) + _entropy(by_label, items)
    return 2 * shared / entropies if entropies else 1.0


def _entropy(counts: Counter[str], items: int) -> float:
    return -sum(count / items * math.log(count / items) for count in counts.values())
