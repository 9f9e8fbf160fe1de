"""`settings`: what is set, where, and nothing secret."""

import json
from pathlib import Path

from pipeline.cli.settings import table
from pipeline.config import Settings, load
from tests.cli.run import run

README = Path(__file__).parents[2] / "README.md"
SECRET = {
    "NEWSBURST_POSTGRES": "postgresql://me:s3cret@db/news",
    "NEWSBURST_KAFKA_PASSWORD": "s3cret",
    "NEWSBURST_WEB_TOKEN": "s3cret",
    "NEWSBURST_SMTP": "smtp://me:s3cret@host:587",
    "NEWSBURST_THRESHOLD": "7",
}


def test_settings_are_printed_with_their_source_and_without_secrets():
    said = json.loads(run("settings", "--json", env=SECRET).output)
    assert list(said) == list(Settings.model_fields)
    assert said["threshold"] == {"value": 7, "source": "variable"}
    assert said["rows"] == {"value": 1, "source": "default"}
    assert said["postgres"]["value"] == "postgresql://me:***@db/news"
    query = SECRET | {"NEWSBURST_POSTGRES": "postgresql://me@db/news?password=s3cret"}
    assert 'postgres = "postgresql://me@db/news?password=***"' in run("settings", "--toml", env=query).output
    assert "\npostgres = " not in run("settings", "--toml", env=query).output
    for form in ((), ("--json",), ("--toml",)):
        shown = run("settings", *form, env=SECRET)
        assert shown.exit_code == 0, shown.output
        assert "s3cret" not in shown.output


def test_the_toml_that_is_printed_sets_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"NEWSBURST_THRESHOLD": "7", "NEWSBURST_WINDOW_HOURS": "0.5", "NEWSBURST_KAFKA": "k:1"}
    path = tmp_path / "newsburst.toml"
    path.write_text(run("settings", "--toml", env=given).output)
    monkeypatch.setenv("NEWSBURST_SETTINGS", str(path))
    settings = load()
    assert (settings.threshold, settings.window_hours, settings.kafka) == (7, 0.5, "k:1")
    assert settings.model_fields_set >= {"threshold", "window_hours", "kafka"}


def test_the_readme_lists_them_as_they_are():
    assert table() in README.read_text(encoding="utf-8")
