"""How long clusters live, and what a cluster is called after merges.

Stream time is the newest event time seen. A story *comes* at the stream time it brings the edition to. A cluster lives until
no story has come to it for the look-back; the rows of its stories live exactly as long, so that everything known of a living
cluster is a function of rows that are still kept.

    stream time                                       v
    cluster A   o--o-----o.............look-back......|........>   alive
    cluster B   o-o..................look-back....|  x             dead: its rows may go

Rows that are kept give the stream time at which each came as all rows did, as far as it still matters: what raised it and is
gone lay before the horizon.
"""

from collections.abc import Iterator
from heapq import heappop, heappush, heapreplace
from typing import NamedTuple


class Dropped(NamedTuple):
    """What died as stream time moved on: clusters, merged ones included; the ids of their stories, and of the revised ones."""

    clusters: list[str]
    rows: list[str]
    revised: list[str]


class Lifetimes:
    """Stream time, when the last story of each living cluster came, and the survivor of each merged one."""

    def __init__(self, look_back: int) -> None:
        self.look_back = look_back
        self.stream_time = 0
        self.survivor: dict[str, str] = {}
        self._last: dict[str, int] = {}
        self._looks: list[tuple[int, str]] = []
        """when each was last known to have a story: a heap, with those that were merged or have had stories since"""

    @property
    def horizon(self) -> int:
        """The earliest time that the look-back still reaches."""
        return self.stream_time - self.look_back

    def resolve(self, cluster_id: str) -> str:
        """The id under which a cluster lives on: its own, or that of the cluster it was merged into."""
        while cluster_id in self.survivor:
            cluster_id = self.survivor[cluster_id]
        return cluster_id

    def touch(self, cluster_id: str) -> None:
        """A story comes to the cluster."""
        if cluster_id not in self._last:
            heappush(self._looks, (self.stream_time, cluster_id))
        self._last[cluster_id] = self.stream_time

    def merge(self, absorbed: str, survivor: str) -> None:
        """`absorbed` lives on as `survivor`, to which the story that shows it comes now."""
        self.survivor[absorbed] = survivor
        del self._last[absorbed]

    def advance(self, time: int) -> None:
        """Move stream time on to `time`; it never goes back."""
        self.stream_time = max(self.stream_time, time)

    def expire(self) -> Iterator[str]:
        """Forget each cluster whose last story came before the horizon, and yield its id."""
        looks = self._looks
        while looks and looks[0][0] < self.horizon:
            seen, cluster_id = looks[0]
            last = self._last.get(cluster_id, seen)
            if last > seen:
                heapreplace(looks, (last, cluster_id))
                continue
            heappop(looks)
            if self._last.pop(cluster_id, None) is not None:
                yield cluster_id
