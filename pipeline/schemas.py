"""The JSON Schema of every record, written from `pipeline.records`."""

from pathlib import Path
from typing import Any

import msgspec

from pipeline import records

WIRE = {
    "story": records.Story,
    "normalised_story": records.NormalisedStory,
    "fingerprint": records.Fingerprint,
    "assignment": records.Assignment,
    "cluster": records.Cluster,
    "event_update": records.EventUpdate,
    "amendment": records.Amendment,
    "dead_letter": records.DeadLetter,
}
"""The records that people meet on topics, in path order; of a dead letter, its headers."""


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one record (a key of WIRE)."""
    (made,), definitions = msgspec.json.schema_components([WIRE[name]], ref_template="#/$defs/{name}")
    root = made["$ref"].rpartition("/")[2]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **definitions.pop(root),
        **({"$defs": dict(sorted(definitions.items()))} if definitions else {}),
    }


def write_schemas(folder: Path) -> list[Path]:
    """Write `NAME.schema.json` for every record; returns the paths. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in WIRE:
        path = folder / f"{name}.schema.json"
        path.write_bytes(msgspec.json.format(msgspec.json.encode(schema(name)), indent=2) + b"\n")
        paths.append(path)
    return paths
