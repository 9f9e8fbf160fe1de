"""The JSON Schemas that are checked in."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from pipeline.schemas import WIRE, schema, write_schemas
from tests.make import assignment, fingerprinted, story

FOLDER = Path(__file__).parents[1] / "schemas"


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
