"""The contract: the JSON Schema of every record, and an AsyncAPI document of the topics, written from `pipeline.records`."""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pipeline import records

VERSION = "1.1"
"""Of the contract. The second number grows with a field that may be missing, the first with anything that readers must know."""
WIRE = {
    "story": records.Story,
    "normalised_story": records.NormalisedStory,
    "fingerprint": records.Fingerprint,
    "assignment": records.Assignment,
    "cluster": records.Cluster,
    "event_update": records.EventUpdate,
    "amendment": records.Amendment,
    "amended": records.Amended,
    "stream_time": records.StreamTime,
    "dead_letter": records.DeadLetter,
}
"""The records that people meet on topics, in path order; of a dead letter, its headers."""


class Channel(NamedTuple):
    """A topic that people write to or read from."""

    topic: str
    key: str
    """what the key of its messages is"""
    action: str
    """what Newsburst does: `send` to it, or `receive` from it"""
    messages: tuple[str, ...]
    """keys of WIRE"""
    summary: str


CHANNELS = (
    Channel("stories", "Any, or none.", "receive", ("story",), "Stories as they are crawled."),
    Channel("amendments", "The edition.", "receive", ("amendment",), "Corrections by hand."),
    Channel(
        "events",
        "The id of the event.",
        "send",
        ("event_update",),
        "Events: one alert each, then updates, for ever. With NEWSBURST_CLOUDEVENTS, headers of CloudEvents 1.0 (binary mode).",
    ),
    Channel(
        "clusters",
        "The id of the cluster.",
        "send",
        ("cluster",),
        "The newest state of each cluster. Compacted: a message without a value says that the cluster is over.",
    ),
    Channel(
        "assignments",
        "The id of the story, or the edition.",
        "send",
        ("assignment", "stream_time", "amended"),
        "Of each story its cluster. Records with the header `newsburst-kind` are no stories: `tick` says what time it is in an "
        "edition, `amendment` what was corrected.",
    ),
    Channel(
        "stories.dlq",
        "As it came.",
        "send",
        ("dead_letter",),
        "What is no story, as it came. Each topic has one of these; the headers `newsburst-...` say what is wrong.",
    ),
)


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one record (a key of WIRE)."""
    (made,), definitions = msgspec.json.schema_components([WIRE[name]], ref_template="#/$defs/{name}")
    root = made["$ref"].rpartition("/")[2]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:newsburst:{name}:{VERSION}",
        "version": VERSION,
        **definitions.pop(root),
        **({"$defs": dict(sorted(definitions.items()))} if definitions else {}),
    }


def asyncapi(prefix: str = "newsburst") -> dict[str, Any]:
    """The AsyncAPI document of the topics of this prefix; schemas are files beside it.

    https://www.asyncapi.com/docs/reference/specification/v3.1.0
    """
    return {
        "asyncapi": "3.1.0",
        "info": {
            "title": "Newsburst",
            "version": VERSION,
            "description": "Breaking news events from a stream of crawled stories. Readers of what Newsburst writes set "
            "`isolation.level=read_committed`: then each record comes exactly once.",
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"broker": {"host": "broker:9092", "protocol": "kafka", "description": "Any broker of yours."}},
        "channels": {_name(channel): _channel(channel, prefix) for channel in CHANNELS},
        "operations": {
            f"{channel.action}_{_name(channel)}": {
                "action": channel.action,
                "summary": channel.summary,
                "channel": {"$ref": f"#/channels/{_name(channel)}"},
            }
            for channel in CHANNELS
        },
        "components": {"messages": {name: _message(name) for name in _messages()}},
    }


def _messages() -> list[str]:
    return list(dict.fromkeys(name for channel in CHANNELS for name in channel.messages))


def _name(channel: Channel) -> str:
    return channel.topic.replace(".", "_")


def _channel(channel: Channel, prefix: str) -> dict[str, Any]:
    return {
        "address": f"{prefix}.{channel.topic}",
        "description": channel.summary,
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in channel.messages},
    }


def _message(name: str) -> dict[str, Any]:
    key = next(channel.key for channel in CHANNELS if name in channel.messages)
    of = {"schemaFormat": "application/schema+json;version=draft-2020-12", "schema": {"$ref": f"./{name}.schema.json"}}
    return {
        "name": name,
        **({"headers": of, "payload": {"description": "As it came."}} if name == "dead_letter" else {"payload": of}),
        "bindings": {"kafka": {"key": {"type": "string", "description": key}}},
    }


def write_schemas(folder: Path) -> list[Path]:
    """Write `NAME.schema.json` for every record, and `asyncapi.json`; returns the paths. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    documents = {f"{name}.schema.json": schema(name) for name in WIRE} | {"asyncapi.json": asyncapi()}
    paths = []
    for name, document in documents.items():
        path = folder / name
        path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
        paths.append(path)
    return paths
