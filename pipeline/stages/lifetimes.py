"""How long clusters live, and what a cluster is called after merges.

Stream time is the newest event time seen. A cluster lives until no story has joined it for the look-back; the rows of its
stories live exactly as long, so that everything known of a living cluster is a function of rows that are still kept.

    stream time                                       v
    cluster A   o--o-----o.............look-back......|........>   alive
    cluster B   o-o..................look-back....|  x             dead: its rows may go
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple


class Dropped(NamedTuple):
    """What died as stream time moved on: clusters, merged ones included, and the ids of their stories."""

    clusters: list[str]
    rows: list[str]


class Lifetimes:
    """Stream time, the last story time of each living cluster, and the survivor of each merged one."""

    def __init__(self, look_back: int) -> None:
        self.look_back = look_back
        self.stream_time = 0
        self.last: dict[str, int] = {}
        self.survivor: dict[str, str] = {}
        self._by_last: list[tuple[int, str]] = []

    @property
    def horizon(self) -> int:
        """The earliest story time that the look-back still reaches."""
        return self.stream_time - self.look_back

    def resolve(self, cluster_id: str) -> str:
        """The id under which a cluster lives on: its own, or that of the cluster it was merged into."""
        while cluster_id in self.survivor:
            cluster_id = self.survivor[cluster_id]
        return cluster_id

    def touch(self, cluster_id: str, time: int) -> None:
        """A story of `time` joined the cluster."""
        last = max(time, self.last.get(cluster_id, time))
        self.last[cluster_id] = last
        heappush(self._by_last, (last, cluster_id))

    def merge(self, absorbed: str, survivor: str) -> None:
        """`absorbed` lives on as `survivor`."""
        self.survivor[absorbed] = survivor
        self.touch(survivor, self.last.pop(absorbed))

    def advance(self, time: int) -> None:
        """Move stream time on to `time`; it never goes back."""
        self.stream_time = max(self.stream_time, time)

    def expire(self) -> Iterator[str]:
        """Forget each cluster whose last story lies before the horizon, and yield its id."""
        while self._by_last and self._by_last[0][0] < self.horizon:
            last, cluster_id = heappop(self._by_last)
            if self.last.get(cluster_id) == last:
                del self.last[cluster_id]
                yield cluster_id
