"""The JSON Schemas that are checked in."""

import gzip
import json
import re
from pathlib import Path

import jsonschema
import msgspec
import pytest

from pipeline.codec import decode, encode
from pipeline.kafka.topics import STREAMS
from pipeline.schemas import VERSION, WIRE, schema, write_schemas
from tests.make import assignment, fingerprinted, story

FOLDER = Path(__file__).parents[1] / "schemas"
KEPT = Path(__file__).parent / "contracts"


def test_the_schemas_checked_in_are_those_of_the_records(tmp_path):
    written = {path.name: path.read_text() for path in write_schemas(tmp_path)}
    assert written == {path.name: path.read_text() for path in FOLDER.glob("*.json")}, (
        "The records have changed: run `newsburst topics schemas schemas/`."
    )


@pytest.mark.parametrize("name", WIRE)
def test_every_schema_is_a_schema(name):
    jsonschema.Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("normalised_story", story("a")),
        ("fingerprint", fingerprinted("a")),
        ("assignment", assignment(0, "c1", "a")),
    ],
)
def test_records_on_the_wire_obey_their_schema(name, record):
    jsonschema.validate(json.loads(msgspec.json.encode(record)), schema(name))


def test_the_document_of_the_topics_is_asyncapi_and_its_files_are_there():
    with gzip.open(KEPT / "asyncapi-3.1.0.schema.json.gz") as packed:
        validator = jsonschema.Draft7Validator(json.load(packed))
    document = json.loads((FOLDER / "asyncapi.json").read_text(encoding="utf-8"))
    assert [error.message for error in validator.iter_errors(document)] == []
    files = set(re.findall(r"\./([a-z_]+\.schema\.json)", json.dumps(document)))
    assert files <= {path.name for path in FOLDER.glob("*.json")}
    public = {channel["address"].removeprefix("newsburst.") for channel in document["channels"].values()}
    assert public == {*STREAMS, "stories.dlq"} - {"normalised", "fingerprints"}


def test_the_records_of_this_version_are_kept():
    kept = (KEPT / f"records-{VERSION}.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["kind"] for line in kept} == set(WIRE)


@pytest.mark.parametrize("path", sorted(KEPT.glob("records-*.jsonl")), ids=lambda path: path.stem)
def test_records_of_every_version_are_read_and_obey_the_schemas_of_today(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        of = json.loads(line)
        record = decode(json.dumps(of["record"]).encode(), WIRE[of["kind"]])
        jsonschema.validate(json.loads(encode(record)), schema(of["kind"]))
        jsonschema.validate(of["record"], schema(of["kind"]))
        assert encode(decode(encode(record), WIRE[of["kind"]])) == encode(record)


def test_schemas_are_named_with_their_version():
    for name in WIRE:
        made = schema(name)
        assert (made["$id"], made["version"]) == (f"urn:newsburst:{name}:{VERSION}", VERSION)
