"""`newsburst cluster`: an archive gives what the stream would."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from pipeline.archive import Archive
from pipeline.cli.cluster import BATCH_RECORDS
from pipeline.config import Settings
from pipeline.replay import fingerprints, replay
from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import migrate
from pipeline.storage.offsets import Stored
from pipeline.storage.read import Reader
from pipeline.storage.write import Writer
from tests.cli.run import run
from tests.sample import RECEIVED, lines, stories
from tests.storage.dump import dump

ROOT = Path(__file__).parents[2]
COUNT = 3_000


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "archive.jsonl"
    path.write_bytes(b"\n".join(lines(COUNT)) + b"\n")
    return path


@pytest.fixture
def archive_settings(database, tmp_path):
    migrate(database)
    return Settings(postgres=database, data=tmp_path / "data")


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_clusters_and_events_are_those_of_the_stream_wherever_its_records_lie(archive, tmp_path):
    counts = json.loads(run("cluster", str(archive), "--out", str(tmp_path / "out"), "--json").output)
    log = ((7 * position + 3, record) for position, record in fingerprints(stories()[:COUNT], RECEIVED))
    stream = Archive()
    for step in replay(log):
        stream.take(step)
    clusters, events = rows(tmp_path / "out" / "clusters.jsonl"), rows(tmp_path / "out" / "events.jsonl")
    assert {row["id"]: row["story_ids"] for row in clusters} == {of.id: of.story_ids for of in stream.clusters()}
    assert {row["id"]: row["story_ids"] for row in events} == {of.id: of.story_ids for of in stream.events()}
    assert events
    assert all(len(row["story_ids"]) == row["stories"] for row in [*clusters, *events])
    assert sum(row["stories"] for row in clusters) == counts["stories"] == COUNT
    assert counts["clusters"] == len(clusters)
    assert counts["events"] == len(events)


def test_what_is_loaded_is_what_is_written_to_files(archive, archive_settings, tmp_path):
    result = run("cluster", str(archive), "--load", "--out", str(tmp_path / "out"), settings=archive_settings)
    assert result.exit_code == 0, result.output
    with closing(Reader(archive_settings.postgres)) as reader:
        assert reader.count("stories") == COUNT
        in_postgres = {row["id"]: row["stories_total"] for row in reader.events()}
    assert in_postgres == {row["id"]: row["stories"] for row in rows(tmp_path / "out" / "events.jsonl")}
    assert "breaking" in run("report", "events", settings=archive_settings).output or in_postgres


def test_a_load_that_was_killed_can_be_given_again(archive, archive_settings, new_database):
    whole = new_database()
    migrate(whole)
    run("cluster", str(archive), "--load", settings=archive_settings.model_copy(update={"postgres": whole}))
    arguments = [sys.executable, "-m", "pipeline.command", "cluster", str(archive), "--load"]
    environment = {**os.environ, **archive_settings.environment(), "PYTHONPATH": str(ROOT)}
    with closing(Reader(archive_settings.postgres)) as reader:
        process = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL)
        while reader.count("stories") < BATCH_RECORDS // 4 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert 0 < reader.count("stories") < COUNT
    subprocess.run(arguments, env=environment, check=True, stdout=subprocess.DEVNULL)
    assert dump(archive_settings.postgres) == dump(whole)


def test_a_database_that_workers_write_into_is_refused(archive, archive_settings):
    with closing(Writer(archive_settings.postgres)) as writer:
        writer.write([], [Stored("newsburst.assignments", 0, 0, 5, 5)])
    result = run("cluster", str(archive), "--load", settings=archive_settings)
    assert result.exit_code == 1
    assert "Workers write into this database" in result.output


def test_a_database_without_the_schema_says_what_to_do(archive, database, tmp_path):
    result = run("cluster", str(archive), "--load", settings=Settings(postgres=database, data=tmp_path / "data"))
    assert result.exit_code == 1
    assert "newsburst migrate" in result.output


def test_stories_out_of_order_can_be_sorted(archive, tmp_path):
    run("cluster", str(archive), "--out", str(tmp_path / "ordered"))
    archive.write_bytes(b"\n".join(reversed(lines(COUNT))) + b"\n")
    assert "--sort puts them in order" in run("cluster", str(archive), "--out", str(tmp_path / "reversed")).output
    run("cluster", str(archive), "--out", str(tmp_path / "sorted"), "--sort")
    ordered, again = (rows(tmp_path / name / "events.jsonl") for name in ("ordered", "sorted"))
    assert len(ordered) == len(again)


def test_lines_that_are_no_stories_are_named(archive, tmp_path):
    with archive.open("ab") as file:
        file.write(b"nonsense\n")
    result = run("cluster", str(archive), "--out", str(tmp_path / "out"))
    assert f"line {COUNT + 1}: Not JSON" in result.stderr
    assert "1 line left out" in result.stdout
    strict = run("cluster", str(archive), "--out", str(tmp_path / "out"), "--strict")
    assert strict.exit_code == 1
    assert f"archive.jsonl, line {COUNT + 1}: Not JSON" in strict.output


def test_an_output_is_asked_for(archive):
    assert "--out FOLDER, --load, or both" in run("cluster", str(archive)).output


def test_no_stream_has_written_what_was_loaded(archive, archive_settings):
    run("cluster", str(archive), "--load", settings=archive_settings)
    engine = create_engine(archive_settings.postgres)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM news.stored_offsets")).scalar() == 0
    engine.dispose()
