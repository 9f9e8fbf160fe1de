"""The README says what the code does."""

import re
from pathlib import Path

import pytest

from pipeline import records
from pipeline.cli import COMMANDS
from pipeline.config import Settings
from pipeline.kafka.topics import STREAMS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_in_the_readme_with_its_default(name):
    (default,) = re.findall(rf"\| `NEWSBURST_{name.upper()}` \| `(.*?)` \|", README)
    assert Settings.model_validate({name: default}).model_dump()[name] == Settings.model_fields[name].default


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_readme(name):
    assert f"newsburst {name}" in README


def test_the_readme_names_no_command_that_is_not_there():
    named = set(re.findall(r"newsburst ([a-z]+)\b", README.replace("`newsburst` ", "")))
    assert named <= set(COMMANDS)


@pytest.mark.parametrize("field", records.EventUpdate.__struct_fields__)
def test_every_field_of_an_event_is_explained(field):
    assert f"`{field}`" in README


@pytest.mark.parametrize("topic", STREAMS)
def test_every_topic_is_in_the_path(topic):
    assert f"`{topic}`" in README or f"newsburst.{topic}" in README


def test_links_and_paths_lead_somewhere():
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for document in documents:
        text = document.read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", text):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
        for path in re.findall(r"`((?:pipeline|agents|scripts|migrations|samples)/[\w/.]+)`", text):
            assert (ROOT / path).exists(), f"{document.name}: {path}"


def test_the_limits_in_the_readme_are_those_of_the_records():
    for limit in (records.MAX_URL, records.MAX_TITLE, records.MAX_PUBLISHER, records.MAX_ID, records.MAX_BODY):
        assert f"{limit:,}" in README
