"""Settings."""

import json
import os
import subprocess
import sys

import pytest

from pipeline.config import SettingsError, load, load_with_sources
from pipeline.kafka.connection import tls
from pipeline.times import HOUR


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("NEWSBURST_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def running(folder, pid):
    folder.mkdir()
    (folder / "services.json").write_text(json.dumps({"kafka": "k:1", "postgres": "postgresql://p", "pid": str(pid)}))


def test_the_environment_sets_what_it_names(monkeypatch):
    monkeypatch.setenv("NEWSBURST_THRESHOLD", "3")
    monkeypatch.setenv("NEWSBURST_WINDOW_HOURS", "0.5")
    rule = load().detect_rule()
    assert (rule.threshold, rule.window) == (3, HOUR // 2)


@pytest.mark.parametrize(("name", "value"), [("THRESHOLD", "many"), ("PARTITIONS", "0"), ("LOG_LEVEL", "LOUD")])
def test_a_wrong_setting_is_named_with_its_value(monkeypatch, name, value):
    monkeypatch.setenv(f"NEWSBURST_{name}", value)
    with pytest.raises(SettingsError, match=f"NEWSBURST_{name}='{value}'"):
        load()


def test_running_embedded_services_are_found(tmp_path):
    running(tmp_path / ".newsburst", os.getpid())
    assert load().kafka == "k:1"


def test_the_environment_goes_before_running_services(monkeypatch, tmp_path):
    running(tmp_path / ".newsburst", os.getpid())
    monkeypatch.setenv("NEWSBURST_KAFKA", "mine:9092")
    assert (load().kafka, load().postgres) == ("mine:9092", "postgresql://p")


def test_services_whose_process_has_gone_are_not(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    running(tmp_path / ".newsburst", gone.pid)
    assert load().kafka == "127.0.0.1:9092"


def test_settings_survive_the_way_to_another_process(monkeypatch):
    monkeypatch.setenv("NEWSBURST_MIN_PUBLISHERS", "4")
    settings = load()
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    assert load() == settings


def test_a_login_needs_a_name_and_a_password(monkeypatch):
    monkeypatch.setenv("NEWSBURST_KAFKA_SECURITY", "SASL_SSL")
    monkeypatch.setenv("NEWSBURST_KAFKA_USER", "worker")
    with pytest.raises(SettingsError, match="NEWSBURST_KAFKA_PASSWORD_FILE"):
        load()


def test_a_password_is_read_from_its_file_and_shown_nowhere(monkeypatch, tmp_path):
    (tmp_path / "secret").write_text("open sesame\n")
    monkeypatch.setenv("NEWSBURST_POSTGRES", "postgresql://me:open-sesame@db/news")
    monkeypatch.setenv("NEWSBURST_KAFKA_PASSWORD_FILE", str(tmp_path / "secret"))
    settings = load()
    assert settings.secret() == "open sesame"
    assert "sesame" not in repr(settings)
    monkeypatch.delenv("NEWSBURST_KAFKA_PASSWORD_FILE")
    monkeypatch.setenv("NEWSBURST_KAFKA_PASSWORD", "open sesame")
    assert load().secret() == "open sesame"
    assert "sesame" not in repr(load())
    assert load().environment()["NEWSBURST_KAFKA_PASSWORD"] == "open sesame"


@pytest.mark.parametrize(
    ("uri", "whole"),
    [
        ("postgresql://me@db/news", "postgresql://me:p%40ss%2Fword@db/news"),
        ("postgresql://db:5433/news?sslmode=require", "postgresql://:p%40ss%2Fword@db:5433/news?sslmode=require"),
    ],
)
def test_the_password_of_postgres_is_read_from_its_file(monkeypatch, tmp_path, uri, whole):
    (tmp_path / "secret").write_text("p@ss/word\n")
    monkeypatch.setenv("NEWSBURST_POSTGRES", uri)
    monkeypatch.setenv("NEWSBURST_POSTGRES_PASSWORD_FILE", str(tmp_path / "secret"))
    assert load().postgres == whole
    assert not load().environment()["NEWSBURST_POSTGRES_PASSWORD_FILE"]  # a process of ours has it in the URI
    monkeypatch.setenv("NEWSBURST_POSTGRES", "postgresql://me:other@db/news")
    with pytest.raises(SettingsError, match="has a password already"):
        load()
    monkeypatch.setenv("NEWSBURST_POSTGRES_PASSWORD_FILE", str(tmp_path / "none"))
    with pytest.raises(SettingsError, match="NEWSBURST_POSTGRES_PASSWORD_FILE=.*none"):
        load()


def test_a_file_that_is_missing_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("NEWSBURST_KAFKA_PASSWORD_FILE", str(tmp_path / "none"))
    with pytest.raises(SettingsError, match="NEWSBURST_KAFKA_PASSWORD_FILE=.*none"):
        load().secret()
    monkeypatch.setenv("NEWSBURST_KAFKA_CA", str(tmp_path / "ca.pem"))
    with pytest.raises(SettingsError, match=r"NEWSBURST_KAFKA_CA=.*ca\.pem'.*no such file"):
        tls(load())


def test_a_misspelled_setting_is_refused_with_the_one_that_was_meant(monkeypatch):
    monkeypatch.setenv("NEWSBURST_THRESHHOLD", "3")
    with pytest.raises(SettingsError, match="NEWSBURST_THRESHHOLD is no setting; did you mean NEWSBURST_THRESHOLD?"):
        load()


def test_a_language_that_is_no_tag_is_refused(monkeypatch):
    monkeypatch.setenv("NEWSBURST_LANGUAGE", "english")
    with pytest.raises(SettingsError, match="NEWSBURST_LANGUAGE='english': is no language tag: use `en` or `pt-BR`"):
        load()


def test_workers_that_share_the_state_must_agree_on_what_it_depends_on(monkeypatch):
    before = load().rule()
    monkeypatch.setenv("NEWSBURST_LOG_LEVEL", "DEBUG")
    assert load().rule() == before
    monkeypatch.setenv("NEWSBURST_LOOK_BACK_HOURS", "1")
    assert load().rule() != before


def test_paths_in_a_toml_file_begin_at_its_folder(monkeypatch, tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "secret").write_text("open sesame")
    (tmp_path / "conf" / "news.toml").write_bytes(b'\xef\xbb\xbfkafka_password_file = "secret"\ndata = "/var/news"\n')
    monkeypatch.setenv("NEWSBURST_SETTINGS", "conf/news.toml")
    assert (load().secret(), str(load().data)) == ("open sesame", "/var/news")


def test_a_toml_file_sets_what_no_variable_does(monkeypatch, tmp_path):
    (tmp_path / "news.toml").write_text('threshold = 20\nwindow_hours = 2\nkafka = "file:9092"\n')
    monkeypatch.setenv("NEWSBURST_SETTINGS", str(tmp_path / "news.toml"))
    monkeypatch.setenv("NEWSBURST_THRESHOLD", "3")
    settings, sources = load_with_sources()
    assert (settings.threshold, settings.window_hours, settings.kafka) == (3, 2.0, "file:9092")
    assert (sources["threshold"], sources["kafka"], sources["rows"]) == (
        "variable",
        str(tmp_path / "news.toml"),
        "default",
    )
    running(tmp_path / ".newsburst", os.getpid())
    assert (load().kafka, load().postgres) == ("file:9092", "postgresql://p")
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    assert load() == settings


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("treshold = 3", "news.toml: treshold is no setting; did you mean threshold?"),
        ("threshold = 0", "news.toml: threshold = 0: Input should be greater than or equal to 1."),
        ('kafka_password = ["s3cret"]', r"kafka_password = \.\.\.: "),
        ("[web]\nport = 1", r"news.toml: \[web\] is a table"),
        ("metrics_port = true", "news.toml: metrics_port = true: it is not true or false"),
        ("threshold = ", "NEWSBURST_SETTINGS=.*news.toml': Invalid value"),
    ],
)
def test_what_is_wrong_in_a_toml_file_is_named(monkeypatch, tmp_path, text, said):
    (tmp_path / "news.toml").write_text(text)
    monkeypatch.setenv("NEWSBURST_SETTINGS", str(tmp_path / "news.toml"))
    with pytest.raises(SettingsError, match=said) as refused:
        load()
    assert "s3cret" not in str(refused.value)
    monkeypatch.setenv("NEWSBURST_SETTINGS", str(tmp_path / "none.toml"))
    with pytest.raises(SettingsError, match=r"NEWSBURST_SETTINGS=.*none\.toml"):
        load()
