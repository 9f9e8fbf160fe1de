"""Writes: whatever comes twice, out of order or out of date changes nothing."""

import random

import pytest
import sqlalchemy as sa

from pipeline.replay import replay
from pipeline.stages.rules import DetectRule
from pipeline.storage.engine import DatabaseError, create_engine
from pipeline.storage.migrate import migrate
from pipeline.storage.read import Reader
from pipeline.storage.write import Writer
from pipeline.times import HOUR
from tests.make import fingerprinted
from tests.storage.dump import dump

TEXTS = ["earthquake strike nepal capital", "earthquake nepal toll", "bank cut interest rate", "storm hit coast town"]
RULE = DetectRule(threshold=3, window=HOUR, min_publishers=2)


def records():
    log = [fingerprinted(f"s{n:02}", TEXTS[n % 4], n * 2) for n in range(24)]
    return [
        record
        for step in replay(enumerate(log), detect_rule=RULE)
        for record in (step.assignment, *step.clusters, *step.updates)
    ]


def write(uri, *batches):
    migrate(uri)
    writer = Writer(uri)
    for batch in batches:
        writer.write(batch)
    writer.close()


def test_order_repeats_and_batches_change_nothing(new_database):
    in_order, shuffled = new_database(), new_database()
    made = records()
    write(in_order, made)
    expected = dump(in_order)
    assert len(expected["stories"]) == 24
    assert expected["events"]
    mixed = made * 2
    random.Random(7).shuffle(mixed)
    write(shuffled, *(mixed[start : start + 5] for start in range(0, len(mixed), 5)))
    assert dump(shuffled) == expected
    at_once = new_database()
    write(at_once, made[::-1])
    assert dump(at_once) == expected


def test_nothing_is_written_when_part_of_a_batch_fails(database):
    made = records()
    write(database)
    writer = Writer(database)
    bad = type(made[0])(
        **{field: getattr(made[0], field) for field in made[0].__struct_fields__} | {"cluster_id": "nul\x00"}
    )
    with pytest.raises((sa.exc.DBAPIError, ValueError)):
        writer.write([*made[1:], bad])
    writer.close()
    assert dump(database)["stories"] == []


def test_the_writer_waits_for_a_connection_that_was_cut(database):
    made = records()
    write(database)
    writer = Writer(database)
    writer.write(made[:5])
    engine = create_engine(database)
    with engine.begin() as connection:
        connection.execute(
            sa.text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    engine.dispose()
    writer.write(made)
    writer.close()
    assert len(dump(database)["stories"]) == 24


def test_the_reports_show_an_event_with_its_evidence_and_its_course(database):
    write(database, records())
    reader = Reader(database)
    (event,) = [event for event in reader.breaking() if "earthquake" in event["headline"].lower()]
    stories = reader.event(event["event_id"])
    assert len(stories) == event["stories"] == 12
    assert [story["crawled_at"] for story in stories] == sorted(story["crawled_at"] for story in stories)
    assert stories[0]["copy_of"] is None
    assert any(story["copy_of"] == stories[0]["story_id"] for story in stories)
    timeline = reader.timeline(event["event_id"])
    assert [update["sequence"] for update in timeline] == list(range(1, len(timeline) + 1))
    assert timeline[0]["state"] == "started"
    assert reader.event("e-unknown") == []
    reader.close()


def test_a_retracted_story_leaves_the_report_of_its_event(database):
    log = [fingerprinted(f"s{n:02}", "earthquake strike nepal capital", n, publisher=f"P{n}") for n in range(8)]
    log += [
        fingerprinted("s03", "earthquake strike nepal capital", 20, publisher="P3", retracted=True),
        fingerprinted("s04", "earthquake strike nepal town", 21, publisher="P4"),
    ]
    made = [
        record
        for step in replay(enumerate(log), detect_rule=RULE)
        for record in (step.assignment, *step.clusters, *step.updates)
    ]
    write(database, made[::-1], made)
    reader = Reader(database)
    (event,) = reader.breaking()
    stories = {story["story_id"]: story for story in reader.event(event["event_id"])}
    reader.close()
    assert len(stories) == event["stories"] == event["publishers"] == 7
    assert "s03" not in stories
    assert stories["s04"]["title"] == "Earthquake strike nepal town"
    assert stories["s04"]["crawled_at"] == log[4].story.crawled_at


def test_merged_clusters_are_found_from_any_of_their_ids(database):
    write(database)
    engine = create_engine(database)
    with engine.begin() as connection:
        for cluster_id, into in (("c1", "c2"), ("c2", "c3"), ("c3", None)):
            connection.execute(
                sa.text("INSERT INTO news.clusters VALUES (:id, 'en', 0, 1, 1, NULL, NULL, NULL, :into)"),
                {"id": cluster_id, "into": into},
            )
        for cluster_id in ("c1", "c2", "c3"):
            family = connection.execute(sa.text("SELECT news.cluster_family(:id)"), {"id": cluster_id}).scalars().all()
            assert sorted(family) == ["c1", "c2", "c3"]
    engine.dispose()


def test_what_is_not_there_is_said_in_words():
    reader = Reader("postgresql://me:secret@127.0.0.1:1/none")
    with pytest.raises(DatabaseError, match="No Postgres answers at postgresql") as caught:
        reader.breaking()
    assert "secret" not in str(caught.value)
    with pytest.raises(DatabaseError, match="NEWSBURST_POSTGRES is no Postgres URI"):
        create_engine("nonsense")


def test_a_database_that_was_never_migrated_is_said_in_words(database):
    reader = Reader(database)
    with pytest.raises(DatabaseError, match="newsburst migrate"):
        reader.breaking()
    reader.close()
