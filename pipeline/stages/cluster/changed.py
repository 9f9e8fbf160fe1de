"""Changed clusters: their records after a story or an amendment touched them."""

from collections.abc import Iterable

from pipeline.records import Cluster
from pipeline.stages.cluster.state import ClusterState, LiveCluster
from pipeline.times import from_micros


def living(state: ClusterState, cluster: LiveCluster, edition: str) -> Cluster:
    """The state of a living cluster."""
    first_seen, first_id, headline = cluster.first
    return Cluster(
        id=cluster.id,
        edition=edition,
        position=cluster.position,
        stories=len(cluster.members) - cluster.retracted,
        publishers=len(cluster.publishers),
        headline=None if first_id in state.retracted else headline,
        first_seen=from_micros(first_seen),
        last_seen=from_micros(cluster.last),
    )


def merged(absorbed: Iterable[str], survivor: LiveCluster, edition: str) -> list[Cluster]:
    """The states of clusters that were merged into another."""
    return [
        Cluster(
            id=cluster_id, edition=edition, position=survivor.position, stories=0, publishers=0, merged_into=survivor.id
        )
        for cluster_id in absorbed
    ]
