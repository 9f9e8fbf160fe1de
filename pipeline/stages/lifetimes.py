"""How long clusters live, what a cluster is called after merges, and what time it is in an edition.

Stream time is the newest event time seen. A story *comes* at the stream time it brings the edition to. A cluster lives until
no story has come to it for the look-back; the rows of its stories live exactly as long, so that everything known of a living
cluster is a function of rows that are still kept.

    stream time                                       v
    cluster A   o--o-----o.............look-back......|........>   alive
    cluster B   o-o..................look-back....|  x             dead: its rows may go

A row says at which stream time its story came. While no stories come, ticks move stream time on, by as much as the broker's clock
has moved since the story that set it. So it follows the clock in a live stream, and a backfill keeps its own time.

A single live story inside a backfill must not make all stories that follow late. Where stream time is more than the look-back
behind the broker's clock, a story that is not moves it only when it is not alone: when three such stories have come, or when a
tick finds that no other story has come since.
"""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush, heapreplace
from typing import NamedTuple

from pipeline.records import Amended, Assignment, StreamTime
from pipeline.times import to_micros

BACKFILL_END_STORIES = 3
"""Live stories that end a backfill."""


class Expired(NamedTuple):
    """What died as stream time moved on: clusters, merged ones included; the ids of their stories, of the revised ones among
    these, and of the amendments to the clusters.
    """

    clusters: list[str]
    rows: list[str]
    revised: list[str]
    amendments: list[str]


class Lifetimes:
    """Stream time, when the last story of each living cluster came, and the survivor of each merged one."""

    def __init__(self, look_back: int) -> None:
        self.look_back = look_back
        self.stream_time = 0
        self.received = 0
        """the broker's time when stream time was set"""
        self.survivor: dict[str, str] = {}
        self._ahead: list[tuple[int, int]] = []
        """the live stories inside a backfill: the stream time at which each came, and its own time"""
        self._newest: int | None = None
        """the time of the newest of them, as long as no other story has come"""
        self._last: dict[str, int] = {}
        self._kin: dict[str, set[str]] = {}
        """of each cluster that an amendment moved stories from or to, the living ones that such moves connect it with"""
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
        for kin in self._kin.get(cluster_id, ()):
            self._last[kin] = self.stream_time

    def merge(self, absorbed: str, survivor: str) -> None:
        """`absorbed` lives on as `survivor`, to which the story that shows it comes now."""
        self.survivor[absorbed] = survivor
        del self._last[absorbed]
        kin = self._kin.pop(absorbed, None)
        if kin is not None:
            kin.discard(absorbed)
            self._bind(kin | {survivor})

    def bind(self, clusters: Iterable[str]) -> None:
        """Have living clusters die together, as stories were moved between them: what comes to one comes to all."""
        bound = set(clusters)
        for cluster_id in bound:
            self.touch(cluster_id)
        if len(bound) > 1:
            self._bind(bound)

    def _bind(self, clusters: set[str]) -> None:
        kin = clusters.union(*(self._kin.get(cluster_id, ()) for cluster_id in clusters))
        self._kin.update(dict.fromkeys(kin, kin))

    def come(self, time: int, received: int) -> None:
        """A story of `time` comes, which the broker `received` then. Stream time never goes back."""
        if not self._is_ahead(time, received):
            self.set(time, received)
        elif len(waiting := self._waiting()) + 1 >= BACKFILL_END_STORIES:
            self.set(min(time, *(ahead for _, ahead in waiting)), received)
        self.remember(time)

    def would_die(self, cluster_id: str, time: int, received: int) -> bool:
        """Whether a cluster is dead once such a story has come, to which it does not come."""
        return not self._is_ahead(time, received) and self._last[cluster_id] < time - self.look_back

    def _is_ahead(self, time: int, received: int) -> bool:
        """Whether such a story is a live one inside a backfill."""
        backfill = self.received - self.stream_time > self.look_back and received - time <= self.look_back
        return backfill and time > self.stream_time + self.look_back

    def remember(self, time: int) -> None:
        """A story of `time` has come at this stream time."""
        if self._ahead:
            self._ahead = self._waiting()
        self._newest = None
        if time > self.stream_time + self.look_back:
            self._newest = time
            self._ahead.append((self.stream_time, time))

    def set(self, stream_time: int, received: int) -> None:
        """Stream time is at least this, and was that when the broker's clock showed `received`."""
        if stream_time > self.stream_time:
            self.stream_time, self.received = stream_time, received

    def pass_to(self, received: int) -> None:
        """Let stream time pass as the broker's clock has, up to `received`."""
        if self._newest is not None:
            self.set(self._newest, received)
            self._newest = None
        if received > self.received:
            self.set(self.stream_time + received - self.received, received)

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
                self._kin.pop(cluster_id, None)  # the others die with it
                yield cluster_id

    def _waiting(self) -> list[tuple[int, int]]:
        """Those ahead that still count: their rows are kept, and stream time has not come near."""
        return [
            (came, ahead)
            for came, ahead in self._ahead
            if came >= self.horizon and ahead > self.stream_time + self.look_back
        ]


def replay_time(lifetimes: Lifetimes, row: Assignment | StreamTime | Amended) -> None:
    """Have the stream time that an edition had when this row was written.

    Rows of earlier versions do not say it: then it is the newest event time.
    """
    if isinstance(
        row, Amended
    ):  # which moves nothing; but the row of the tick before it may have been replaced by a later one
        lifetimes.set(to_micros(row.stream_time), lifetimes.received)
        return
    if isinstance(row, StreamTime):
        lifetimes.set(to_micros(row.stream_time), to_micros(row.received_at))
        lifetimes.received = to_micros(row.received_at)
        return
    story = row.story
    time = to_micros(story.crawled_at)
    stream_time = time if row.stream_time is None else to_micros(row.stream_time)
    if stream_time > lifetimes.stream_time:
        lifetimes.set(stream_time, to_micros(story.received_at))
    if not row.revision:
        lifetimes.remember(time)
