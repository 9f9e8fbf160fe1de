"""Observer: who wants to see the decisions of the learned scores as they are made, to learn from them."""

from collections.abc import Sequence
from typing import Protocol


class DecisionObserver(Protocol):
    """Sees each decision with its features, in the order of their weights, before it takes effect."""

    def join(self, story_id: str, members: Sequence[str], features: Sequence[float]) -> None:
        """Does the story belong to the cluster of these stories?"""

    def merge(self, larger: Sequence[str], smaller: Sequence[str], features: Sequence[float]) -> None:
        """Are the clusters of these stories one?"""

    def renew(self, earlier: Sequence[str], new: Sequence[str], features: Sequence[float]) -> None:
        """Is the new burst of a cluster about another event than the earlier one?"""
