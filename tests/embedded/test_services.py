"""Embedded Kafka and Postgres."""

import json
import sys

import pytest

from pipeline.embedded import kafka
from pipeline.embedded.kafka import KafkaUnavailable
from pipeline.embedded.postgres import EmbeddedPostgres
from pipeline.embedded.services import AlreadyRunning, embedded_services
from pipeline.storage.migrate import current, migrate


def test_services_start_say_where_they_are_and_stop(tmp_path):
    with embedded_services(tmp_path, "first") as services:
        note = json.loads((tmp_path / "services.json").read_text())
        assert (note["kafka"], note["postgres"]) == (services.kafka, services.postgres)
        with (
            pytest.raises(AlreadyRunning, match=r"already run on .* Stop that process"),
            embedded_services(tmp_path, "b"),
        ):
            pass
    assert not (tmp_path / "services.json").exists()


def test_postgres_keeps_its_data_between_starts(tmp_path):
    revisions = []
    for act in (migrate, current):
        server = EmbeddedPostgres(tmp_path)
        server.start()
        revisions.append(act(server.uri))
        server.stop()
    assert revisions[0] == revisions[1] != ""


def test_jars_that_cannot_be_had_are_said_in_words(monkeypatch):
    def unreachable(_):
        raise OSError("no route to host")

    monkeypatch.setattr("jgo.build", unreachable)
    with pytest.raises(KafkaUnavailable, match=r"no route to host.*NEWSBURST_KAFKA"):
        kafka.class_path()


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jgo", None)
    with pytest.raises(KafkaUnavailable, match=r"newsburst\[embedded\]"):
        kafka.class_path()
