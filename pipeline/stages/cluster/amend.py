"""Amend: stories move between clusters, and clusters become one, because somebody says so.

An amendment is decided on what the state holds when it comes in the log, so that a replay decides the same. The vectors of moved
stories leave one centroid and enter the other: what is like them joins the right cluster from then on.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pipeline.records import Amended, Amendment, Cluster, MovedStory, StreamTime
from pipeline.stages import ids
from pipeline.stages.cluster import changed
from pipeline.stages.cluster.kernels import date_cluster, move_story
from pipeline.stages.cluster.seen import unpack
from pipeline.stages.cluster.state import ClusterState, LiveCluster, absorb, count_publisher, discount_publisher
from pipeline.times import from_micros


class Refused(Exception):
    """An amendment cannot be; the message says why."""


class Outcome(NamedTuple):
    """What an amendment brought."""

    amended: Amended
    row: Amended | StreamTime
    """what is kept of it; of one that was refused only that it came"""
    clusters: list[Cluster]
    """the new state of each cluster that changed"""


class _Plan(NamedTuple):
    """What an amendment comes to."""

    cluster_id: str
    """the cluster that stories move to, or others are merged into"""
    moved: list[MovedStory]
    merged: list[str]


def amend(state: ClusterState, amendment: Amendment, position: int) -> Outcome | None:
    """Amend the clustering; `position` is that of the amendment in the log. None if it came before.

    An amendment of what does not live any more is refused, and changes nothing.
    """
    if position <= state.position or amendment.id in state.amendments:
        return None
    stream_time = from_micros(state.lifetimes.stream_time)
    try:
        plan = _PLANS.get(amendment.action, _of_event)(state, amendment)
    except Refused as reason:
        state.position = position
        received = from_micros(state.lifetimes.received)
        return Outcome(
            Amended(amendment=amendment, position=position, stream_time=stream_time, refused=str(reason)),
            StreamTime(edition=amendment.edition, position=position, stream_time=stream_time, received_at=received),
            [],
        )
    amended = Amended(amendment=amendment, position=position, stream_time=stream_time, **plan._asdict())
    touched = apply_amended(state, amended)
    merged = changed.merged(plan.merged, state.clusters[plan.cluster_id], amendment.edition)
    living = [changed.living(state, cluster, amendment.edition) for cluster in touched]
    return Outcome(amended, amended, [*merged, *living])


def _move(state: ClusterState, amendment: Amendment) -> _Plan:
    target = _living(state, amendment.clusters[0]).id
    by_cluster = _by_cluster(state, amendment)
    by_cluster.pop(target, None)
    if not by_cluster:
        raise Refused(f"the stories are in cluster {target} already")
    moved, merged = list[MovedStory](), list[str]()
    for cluster_id, stories in by_cluster.items():
        if len(stories) == len(state.clusters[cluster_id].members):  # nothing is left of it
            merged.append(cluster_id)
        else:
            moved += stories
    return _Plan(target, moved, merged)


def _split(state: ClusterState, amendment: Amendment) -> _Plan:
    by_cluster = _by_cluster(state, amendment)
    for cluster_id, stories in by_cluster.items():
        if len(stories) == len(state.clusters[cluster_id].members):
            raise Refused(f"these are all stories of cluster {cluster_id}: there is nothing to split them off from")
    new = ids.cluster_id(amendment.edition, amendment.id)
    return _Plan(new, [story for stories in by_cluster.values() for story in stories], [])


def _merge(state: ClusterState, amendment: Amendment) -> _Plan:
    parts = {part.id: part for part in (_living(state, cluster_id) for cluster_id in amendment.clusters)}
    if len(parts) == 1:
        raise Refused(f"they are one cluster already: {next(iter(parts))}")
    survivor = min(parts.values(), key=lambda part: (part.first, part.id))
    return _Plan(survivor.id, [], [part for part in parts if part != survivor.id])


def _of_event(state: ClusterState, amendment: Amendment) -> _Plan:
    """What is said of an event is for the detect stage, if it broke in this cluster."""
    cluster = _living(state, amendment.clusters[0])
    if state.lifetimes.resolve(ids.cluster_of(amendment.event_id or "")) != cluster.id:
        raise Refused(f"event {amendment.event_id} is none of cluster {cluster.id}")
    return _Plan(cluster.id, [], [])


_PLANS: Mapping[str, Callable[[ClusterState, Amendment], _Plan]] = {"move": _move, "split": _split, "merge": _merge}


def _living(state: ClusterState, cluster_id: str) -> LiveCluster:
    found = state.clusters.get(state.lifetimes.resolve(cluster_id))
    if found is None:
        raise Refused(f"no cluster {cluster_id} lives any more: the look-back does not reach its last story")
    return found


def _by_cluster(state: ClusterState, amendment: Amendment) -> dict[str, list[MovedStory]]:
    """The stories of an amendment, by the clusters that they are in, in the order in which they came."""
    found: dict[str, list[MovedStory]] = {}
    for story_id in dict.fromkeys(amendment.stories):
        seen = state.seen.get(story_id)
        if seen is None:
            raise Refused(f"story {story_id!r} is in no cluster that lives")
        cluster_id = state.lifetimes.resolve(seen.cluster_id)
        story = MovedStory(
            id=story_id, position=seen.position, crawled_at=from_micros(seen.time), cluster_id=cluster_id
        )
        found.setdefault(cluster_id, []).append(story)
    for stories in found.values():
        stories.sort(key=lambda story: story.position)
    return found


def apply_amended(state: ClusterState, row: Amended) -> list[LiveCluster]:
    """Take in what an amendment changes; returns the clusters that it touched, first the one that holds the stories now."""
    assert row.cluster_id is not None
    state.position = row.position
    target = state.clusters.get(row.cluster_id) or _open(state, row)
    sources = {
        cluster_id: state.clusters[cluster_id] for cluster_id in sorted({story.cluster_id for story in row.moved})
    }
    for story in row.moved:
        _put(state, story.id, sources[story.cluster_id], target)
    for absorbed_id in row.merged:
        absorb(state, target, absorbed_id)
    touched = [target, *sources.values()]
    if row.moved or row.merged:
        for cluster in touched:
            _date(state, cluster)
            cluster.position = row.position
        state.lifetimes.bind([cluster.id for cluster in touched])
    target.amendments.append(row.amendment.id)
    state.amendments.add(row.amendment.id)
    return touched if row.moved or row.merged else []


def _open(state: ClusterState, row: Amended) -> LiveCluster:
    assert row.cluster_id is not None
    story_id = row.moved[0].id
    seen = state.seen[story_id]
    return state.open(row.cluster_id, (seen.time, story_id, seen.title), seen.position, unpack(seen.vector)[3])


def _put(state: ClusterState, story_id: str, source: LiveCluster, target: LiveCluster) -> None:
    """Move a story."""
    seen = state.seen[story_id]
    ids, weights, headline_length, _ = unpack(seen.vector)
    place = source.members.index(story_id)
    number = source.numbers[place]
    move_story(state.window, number, ids, weights, headline_length, source.group, target.group, seen.time)
    del source.members[place], source.numbers[place]
    target.members.append(story_id)
    target.numbers.append(number)
    if story_id in state.retracted:
        source.retracted -= 1
        target.retracted += 1
    else:
        discount_publisher(source.publishers, seen.family)
        count_publisher(target.publishers, seen.family)
    state.seen[story_id] = seen._replace(cluster_id=target.id)


def _date(state: ClusterState, cluster: LiveCluster) -> None:
    """Have the times of a cluster be those of the stories that it has now."""
    members = [(state.seen[story_id], story_id) for story_id in cluster.members]
    cluster.first = min((seen.time, story_id, seen.title) for seen, story_id in members)
    cluster.last = max(seen.time for seen, _ in members)
    opener = min(members, key=lambda member: member[0].position)[0]
    cluster.opened, cluster.simhash = opener.position, unpack(opener.vector)[3]
    date_cluster(state.window, cluster.group, cluster.first[0], cluster.last, cluster.opened)
