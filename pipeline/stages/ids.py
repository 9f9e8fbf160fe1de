"""Ids of clusters and of events: an event has the id of the cluster that it broke in."""

from hashlib import blake2b


def cluster_id(*named: object) -> str:
    """The id of the cluster that these name: the same for the same names."""
    return "c" + blake2b(" ".join(map(str, named)).encode(), digest_size=8).hexdigest()


def event_id(cluster: str, number: int) -> str:
    """The id of a cluster's event, `number` being 1 for its first."""
    return "e" + cluster[1:] + ("" if number == 1 else f"-{number}")


def cluster_of(event: str) -> str:
    """The id of the cluster that an event broke in."""
    return "c" + event[1:].partition("-")[0]
