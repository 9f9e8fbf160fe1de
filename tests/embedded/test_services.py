"""Embedded Kafka and Postgres."""

import json
import socket
import sys

import pytest
import sqlalchemy as sa

from pipeline.embedded import kafka
from pipeline.embedded.kafka import EmbeddedKafka, KafkaUnavailable
from pipeline.embedded.postgres import EmbeddedPostgres, PostgresUnavailable
from pipeline.embedded.services import AlreadyRunning, embedded_services
from pipeline.storage.engine import DatabaseError, create_engine
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


def test_a_second_one_is_refused_before_it_deletes_what_the_first_has(tmp_path):
    with embedded_services(tmp_path, "demo"):
        kept = tmp_path / "demo" / "postgres" / "data" / "PG_VERSION"
        assert kept.exists()
        with pytest.raises(AlreadyRunning), embedded_services(tmp_path, "demo", clear=True):
            pass
        assert kept.exists()


def test_postgres_lets_nobody_in_without_its_password(tmp_path):
    server = EmbeddedPostgres(tmp_path)
    server.start()
    try:
        url = sa.make_url(server.uri)
        assert (tmp_path / "password").stat().st_mode & 0o077 == 0
        for other in (url._replace(password=None), url._replace(password="postgres")):
            with pytest.raises(DatabaseError, match="password"):
                migrate(other.render_as_string(hide_password=False))
        engine = create_engine(server.uri)
        with engine.begin() as connection:
            connection.execute(sa.text("CREATE TABLE said (line text)"))
            connection.execute(sa.text("COPY said FROM PROGRAM 'id -u; id -G'"))
            user, groups = connection.execute(sa.text("SELECT line FROM said")).scalars()
        engine.dispose()
        assert user != "0"
        assert "0" not in groups.split()
    finally:
        server.stop()


def test_no_folder_of_others_is_opened_for_postgres(tmp_path):
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    before = {folder: folder.stat().st_mode for folder in (private, *private.parents)}
    server = EmbeddedPostgres(private / "postgres")
    server.start()
    server.stop()
    assert before == {folder: folder.stat().st_mode for folder in before}


def test_data_of_a_version_that_trusted_everybody_get_a_password(tmp_path):
    server = EmbeddedPostgres(tmp_path)
    server.start()
    server.stop()
    (tmp_path / "data" / "pg_hba.conf").write_text("host all all 127.0.0.1/32 trust\n")
    (tmp_path / "password").unlink()
    server = EmbeddedPostgres(tmp_path)
    server.start()
    try:
        migrate(server.uri)
        with pytest.raises(DatabaseError, match="password"):
            migrate(sa.make_url(server.uri)._replace(password="guess").render_as_string(hide_password=False))
    finally:
        server.stop()


def test_a_jar_that_is_not_the_one_we_know_is_not_run(tmp_path):
    jar = tmp_path / "kafka_2.13-4.0.2.jar"
    jar.write_bytes(b"something else")
    with pytest.raises(KafkaUnavailable, match=r"SHA-256 is not the one in pipeline/embedded/jars.json"):
        kafka._check([jar])


def test_a_port_that_is_taken_is_not_shared(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PostgresUnavailable, match=f"port {port} of 127.0.0.1 already"):
            EmbeddedPostgres(tmp_path, port).start()
        with pytest.raises(KafkaUnavailable, match=f"port {port} of 127.0.0.1 already"):
            EmbeddedKafka(tmp_path / "kafka", port).start()
