"""Every topic of Newsburst, declared once: its partitions follow the settings, its clean-up follows its use."""

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.config import Settings

WEEK_MS = str(7 * 24 * 3_600_000)
LARGEST_MESSAGE = str(8 * 1024 * 1024)
"""Room for a dead letter's headers on top of the largest story, and for a row that tells of many events at once."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it is created."""

    name: str
    config: Mapping[str, str]


HOUR_MS = str(3_600_000)
_EVERY = {
    # The broker's clock stamps all records: a crawler's or a worker's wrong clock must not have them deleted early, or refused.
    "message.timestamp.type": "LogAppendTime",
    "max.message.bytes": LARGEST_MESSAGE,
}
_LOG = {**_EVERY, "cleanup.policy": "delete", "retention.ms": WEEK_MS}
_KEPT = {**_EVERY, "cleanup.policy": "delete", "retention.ms": "-1"}
_LETTERS = {**_KEPT, "retention.bytes": str(1024**3)}
"""The newest gibibyte of dead letters a partition: whoever sends nothing but garbage must not fill the disk."""
_COMPACTED = {
    **_EVERY,
    "cleanup.policy": "compact",
    # What is written within the hour is compacted within the next: a log is at most twice its rows and an hour of changes long.
    # Without these, Kafka waits for segments of a gibibyte, and a worker that takes over reads all of it.
    "segment.ms": HOUR_MS,
    "segment.bytes": str(64 * 1024**2),
    "min.cleanable.dirty.ratio": "0.3",
    "max.compaction.lag.ms": HOUR_MS,
    "delete.retention.ms": HOUR_MS,
}

STREAMS = {
    "stories": {**_LOG, "max.message.bytes": "1048588"},
    "normalised": _LOG,
    "fingerprints": _LOG,
    "assignments": _LOG,
    "clusters": _COMPACTED,
    "events": _KEPT,
    "amendments": _KEPT,
}
"""The topics of a story's path, in order, and that of corrections by hand."""

RETRY = "store.retry"
"""Dead letters of the store that are to be tried again: readers of the topics they came from have seen them."""
CLOCK = "clock"
"""Where `newsburst doctor` asks the broker for its time."""

REPLICATED = 3
"""Replicas of a topic from which on a write waits for more than one."""
CHANGELOGS = ("clustering", "detection")
"""The changelogs of the stages that keep state, which Kafka must only ever compact."""


def group(settings: Settings) -> str:
    """The consumer group: Faust's name for the first version of an app is its id."""
    return settings.topic_prefix


def changelog(settings: Settings, name: str) -> str:
    """The topic of a changelog, as Faust names those of its tables."""
    return f"{group(settings)}-{name}-changelog"


def all_topics(settings: Settings) -> list[Topic]:
    """Every topic that must exist before a worker starts: Faust reads only what is there."""
    found = [
        *(Topic(settings.topic(name), config) for name, config in STREAMS.items()),
        *(Topic(settings.topic(f"{name}.dlq"), _LETTERS) for name in (*STREAMS, RETRY)),
        Topic(settings.topic("requeued"), _COMPACTED),
        Topic(settings.topic(RETRY), _LOG),
        Topic(settings.topic(CLOCK), {**_LOG, "retention.ms": HOUR_MS}),
        *(Topic(changelog(settings, name), _COMPACTED) for name in CHANGELOGS),
    ]
    if settings.replication < REPLICATED:
        return found
    # What is acknowledged is on most of the replicas: fewer than half may be lost, and what is there goes on.
    in_sync = {"min.insync.replicas": str(settings.replication // 2 + 1)}
    return [Topic(topic.name, {**topic.config, **in_sync}) for topic in found]
