"""Choice: what is decided of a story, whatever the profile."""

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.records import Similar


class Choice(NamedTuple):
    """Where a story belongs."""

    cluster_id: str | None
    """the cluster to join; None opens one"""
    merged: list[str]
    """the clusters that prove to be one with it"""
    similar: list[Similar]
    duplicate_of: str | None
    tied: Sequence[str] = ()
    """the clusters that it might belong to as well, but that are not one with it"""
