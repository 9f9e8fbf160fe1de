"""Every topic of Newsburst, declared once: its partitions follow the settings, its clean-up follows its use."""

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.config import Settings

WEEK = str(7 * 24 * 3_600_000)
LARGEST_MESSAGE = str(8 * 1024 * 1024)
"""Room for a dead letter's headers on top of the largest story, and for a row that tells of many events at once."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it is created."""

    name: str
    config: Mapping[str, str]


_LOG = {"cleanup.policy": "delete", "retention.ms": WEEK, "max.message.bytes": LARGEST_MESSAGE}
_KEPT = {"cleanup.policy": "delete", "retention.ms": "-1", "max.message.bytes": LARGEST_MESSAGE}
_COMPACTED = {"cleanup.policy": "compact", "max.message.bytes": LARGEST_MESSAGE}

STREAMS = {
    # The broker's clock stamps the stories: a crawler's wrong clock shows, and a replay sees the same times.
    "stories": {**_LOG, "message.timestamp.type": "LogAppendTime", "max.message.bytes": "1048588"},
    "normalised": _LOG,
    "fingerprints": _LOG,
    "assignments": _LOG,
    "clusters": _COMPACTED,
    "events": _KEPT,
}
"""The topics of a story's path, in order."""

TABLES = ("clustering", "detection")
"""The tables of the stages that keep state; each has a changelog, which Kafka must only ever compact."""


def group(settings: Settings) -> str:
    """The consumer group: Faust's name for the first version of an app is its id."""
    return settings.topic_prefix


def changelog(settings: Settings, table: str) -> str:
    """The changelog topic of a table, as Faust names it."""
    return f"{group(settings)}-{table}-changelog"


def all_topics(settings: Settings) -> list[Topic]:
    """Every topic that must exist before a worker starts: Faust reads only what is there."""
    return [
        *(Topic(settings.topic(name), config) for name, config in STREAMS.items()),
        *(Topic(settings.topic(f"{name}.dlq"), _KEPT) for name in STREAMS),
        Topic(settings.topic("requeued"), _COMPACTED),
        *(Topic(changelog(settings, table), _COMPACTED) for table in TABLES),
    ]
