"""An archive: what the stages make of all its stories, in the end.

    stories --normalise, fingerprint--> fingerprints --replay--> steps --> clusters and events as they are at the end

The ids are those that the stream gives for the same stories in the same order.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

import msgspec

from pipeline.records import Cluster, EventUpdate, Fingerprint, Record, Story
from pipeline.replay import Step
from pipeline.stages.detect.members import unpack
from pipeline.stages.fingerprint import fingerprint
from pipeline.stages.normalise import normalise
from pipeline.stages.rules import NormaliseRule

IN_ORDER = timedelta(hours=1)
"""How much later than a story stream time may be for the story to be in order: crawlers are not always on time."""
Place = tuple[str, int]
"""Edition and position: they name a story of the log."""


class ArchivedCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster at the end of the archive."""

    id: str
    edition: str
    headline: str | None
    stories: int
    publishers: int
    first_seen: datetime | None
    last_seen: datetime | None
    story_ids: list[str]
    """in the order in which they came"""


class ArchivedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event at the end of the archive."""

    id: str
    cluster_id: str
    edition: str
    state: str
    headline: str
    started_at: datetime | None
    ended_at: datetime | None
    first_seen: datetime
    last_seen: datetime
    stories: int
    publishers: int | None
    reopened: int
    merged_into: str | None
    story_ids: list[str]
    """in the order in which they came"""


def archived(stories: Iterable[Story], rule: NormaliseRule) -> Iterator[tuple[int, Fingerprint]]:
    """The fingerprints of an archive, with their positions. Each story counts as taken in when it was crawled."""
    for position, story in enumerate(stories):
        yield position, fingerprint(normalise(story, story.crawled_at, rule))


class Archive:
    """Takes the steps of a replay, and knows what is true after the last."""

    def __init__(self) -> None:
        self.stories = 0
        self.out_of_order = 0
        """stories that come long after later ones"""
        self._clusters: dict[str, Cluster] = {}
        self._events: dict[str, EventUpdate] = {}
        self._ids: dict[Place, str] = {}
        self._of: dict[str, tuple[str, str]] = {}
        """edition and cluster of each story, as it was assigned"""

    def take(self, step: Step) -> list[Record]:
        """Take one step in; returns its records, as the stages write them."""
        assignment = step.assignment
        if not assignment.revision:
            self.stories += 1
            came = assignment.stream_time or assignment.story.crawled_at
            self.out_of_order += came - assignment.story.crawled_at > IN_ORDER
            self._ids[assignment.story.edition, assignment.position] = assignment.story.id
        self._of[f"{assignment.story.edition}\0{assignment.story.id}"] = assignment.story.id, assignment.cluster_id
        for cluster in step.clusters:
            self._clusters[cluster.id] = cluster
        for update in step.updates:
            self._events[update.event_id] = update
        return [assignment, *step.clusters, *step.updates]

    def clusters(self) -> Iterator[ArchivedCluster]:
        """The clusters that went into no other, in the order of their first states."""
        members: dict[str, list[str]] = defaultdict(list)
        for story_id, cluster_id in self._of.values():
            members[self._survivor(cluster_id)].append(story_id)
        for cluster in self._clusters.values():
            if cluster.merged_into is None:
                yield ArchivedCluster(
                    id=cluster.id,
                    edition=cluster.edition,
                    headline=cluster.headline,
                    stories=cluster.stories,
                    publishers=cluster.publishers,
                    first_seen=cluster.first_seen,
                    last_seen=cluster.last_seen,
                    story_ids=members[cluster.id],
                )

    def events(self) -> Iterator[ArchivedEvent]:
        """The events in the order in which they broke."""
        for update in self._events.values():
            if update.sequence == 0:  # emerging, and no event
                continue
            yield ArchivedEvent(
                id=update.event_id,
                cluster_id=update.cluster_id,
                edition=update.edition,
                state=update.state,
                headline=update.headline,
                started_at=update.started_at,
                ended_at=update.ended_at,
                first_seen=update.first_seen,
                last_seen=update.last_seen,
                stories=update.stories_total,
                publishers=update.publishers_total,
                reopened=update.reopened,
                merged_into=update.merged_into,
                story_ids=[self._ids[update.edition, member.position] for member in unpack(update.members or b"")],
            )

    def _survivor(self, cluster_id: str) -> str:
        while (state := self._clusters.get(cluster_id)) is not None and state.merged_into is not None:
            cluster_id = state.merged_into
        return cluster_id
