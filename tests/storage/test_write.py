"""Writes: whatever comes twice, out of order or out of date changes nothing."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import msgspec
import pytest
import sqlalchemy as sa

from pipeline.records import EventUpdate
from pipeline.replay import replay
from pipeline.stages.detect.members import Member, pack
from pipeline.stages.rules import DetectRule
from pipeline.storage import engine as engine_module
from pipeline.storage.engine import DatabaseError, create_engine
from pipeline.storage.migrate import migrate
from pipeline.storage.read import Reader
from pipeline.storage.write import Refused, Writer
from pipeline.times import HOUR
from tests.make import fingerprinted
from tests.storage.dump import dump, write

TEXTS = ["earthquake strike nepal capital", "earthquake nepal toll", "bank cut interest rate", "storm hit coast town"]
RULE = DetectRule(threshold=3, window=HOUR, min_publishers=2)


def records():
    log = [fingerprinted(f"s{n:02}", TEXTS[n % 4], n * 2) for n in range(24)]
    return [
        record
        for step in replay(enumerate(log), detect_rule=RULE)
        for record in (step.assignment, *step.clusters, *step.updates)
    ]


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


def large(length):
    """An id that an index of Postgres does not hold: nothing in it repeats."""
    return "c" + random.Random(3).randbytes(length // 2).hex()


def test_nothing_is_written_when_part_of_a_batch_fails(database):
    made = records()
    write(database)
    writer = Writer(database)
    bad = msgspec.structs.replace(made[0], cluster_id=large(9_000))
    with pytest.raises(Refused):
        writer.write([*made[1:], bad])
    writer.close()
    assert dump(database)["stories"] == []


def test_what_is_too_large_for_an_index_is_refused_alone_and_not_waited_for(database):
    made = records()
    write(database)
    writer = Writer(database)
    bad = msgspec.structs.replace(made[0], story=msgspec.structs.replace(made[0].story, id=large(9_000)))
    ((index, reason),) = writer.write_acceptable([*made, bad])
    writer.close()
    assert (index, "index row" in reason) == (len(made), True)
    assert len(dump(database)["stories"]) == 24


FORGED = {
    "members that are none": {"members": b"garbage"},
    "no members": {"members": b""},
    "members at a time that cannot be": {"members": pack([Member(1, 2**62, 1)]), "stories_total": 1},
    "other members than stories": {"members": pack([Member(1, 0, 1)]), "stories_total": 2},
    "an edition that fills memory": {"edition": "x" * 1_000_000},
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_update_is_refused_alone(database, forged):
    made = records()
    write(database)
    (update, *_) = [record for record in made if isinstance(record, EventUpdate)]
    writer = Writer(database)
    ((index, _),) = writer.write_acceptable(
        [*made, msgspec.structs.replace(update, event_id="e-forged", **FORGED[forged])]
    )
    writer.close()
    assert index == len(made)
    assert len(dump(database)["stories"]) == 24


@pytest.mark.parametrize(
    "changes",
    [
        {"url": "http://[bad"},
        {"crawled_at": datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5)))},
        {"crawled_at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))},
    ],
)
def test_a_forged_story_is_refused_alone(database, changes):
    made = records()
    write(database)
    forged = msgspec.structs.replace(made[0], position=99, story=msgspec.structs.replace(made[0].story, **changes))
    writer = Writer(database)
    ((index, _),) = writer.write_acceptable([*made, forged])
    writer.close()
    assert index == len(made)


def test_writers_that_need_a_partition_at_once_get_it(database):
    """Stories of 24 months, each the first of its month, by four writers in step."""
    migrate(database)
    step = threading.Barrier(4)
    (made,) = replay([(0, fingerprinted("first", "quake city", 1))])

    def writes(number):
        writer = Writer(database)
        for month in range(24):
            story = msgspec.structs.replace(
                made.assignment.story,
                id=f"{number}-{month}",
                crawled_at=datetime(2024 + month // 12, 1 + month % 12, 3, tzinfo=UTC),
            )
            step.wait()
            writer.write([msgspec.structs.replace(made.assignment, story=story, position=100 * number + month)])
        writer.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(writes, range(4)))
    assert len(dump(database)["stories"]) == 96


def test_what_postgres_cannot_hold_is_replaced_so_that_no_evidence_is_refused(database):
    made = records()
    nul = [
        msgspec.structs.replace(
            update,
            headline="a\x00b",
            stories=[msgspec.structs.replace(story, title="\\\\u0000 \x00") for story in update.stories],
        )
        if isinstance(update, EventUpdate)
        else update
        for update in made
    ]
    write(database)
    writer = Writer(database)
    assert writer.write_acceptable(nul) == []
    writer.close()
    found = dump(database)
    assert {event.headline for event in found["events"]} == {"a\ufffdb"}
    assert {story["title"] for update in found["event_updates"] for story in update.record["stories"]} == {
        "\\\\u0000 \ufffd"
    }


def test_keys_that_become_one_are_written_apart(database):
    made = records()
    families = [msgspec.structs.replace(made[0].story, family=family) for family in ("a\x00", "a\ufffd")]
    bad = [msgspec.structs.replace(made[0], story=story, position=90 + n) for n, story in enumerate(families)]
    write(database)
    writer = Writer(database)
    assert writer.write_acceptable([*made, *bad]) == []  # apart they are not one
    writer.close()
    assert len(dump(database)["stories"]) == 26


def test_the_same_id_in_two_editions_is_two_stories(database):
    log = [fingerprinted("same", "quake city", 0), fingerprinted("same", "beben stadt", 1, edition="de")]
    steps = list(replay(enumerate(log)))
    write(database, *([step.assignment, *step.clusters] for step in steps))
    assert [(story.edition, story.id) for story in dump(database)["stories"]] == [("de", "same"), ("en", "same")]


def test_a_story_that_comes_again_after_its_cluster_died_stays_in_the_event_it_was_in(database, reader):
    log = [fingerprinted(f"s{n:02}", TEXTS[0], n) for n in range(8)]
    later = [fingerprinted(f"s{n:02}", TEXTS[0], 100_000 + n) for n in range(8)]
    made = [
        record
        for step in replay(enumerate([*log, *later]), detect_rule=RULE)
        for record in (step.assignment, *step.clusters, *step.updates)
    ]
    write(database, made)
    first, second = reader.events()
    assert first["id"] != second["id"]
    for event in (first, second):
        assert {story["story_id"] for story in reader.report("event", event=event["id"])} >= {"s00"} or event is first
        assert len(reader.report("event-timeline", event=event["id"])) >= 1


def test_a_frozen_writer_holds_no_lock_for_long(database, monkeypatch):
    monkeypatch.setattr(engine_module, "LIMITS", engine_module.LIMITS.replace("'20s'", "'500ms'"))
    made = records()
    write(database)
    frozen = create_engine(database).connect()
    frozen.execute(sa.text("INSERT INTO news.clusters VALUES (:id, 'en', 1, 1, 1)"), {"id": made[1].id})
    writer = Writer(database)
    writer.write(made)  # it waits for the row, and then does not
    writer.close()
    with pytest.raises(sa.exc.DBAPIError, match="idle-in-transaction"):
        frozen.execute(sa.text("SELECT 1"))
    frozen.close()
    frozen.engine.dispose()
    assert len(dump(database)["stories"]) == 24


def test_no_password_is_shown_wherever_it_stands():
    url = sa.make_url("postgresql://me:secret1@h/db?password=secret2&sslpassword=secret3&sslmode=require")
    assert "secret" not in engine_module.shown(url)
    assert "sslmode=require" in engine_module.shown(url)


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


def test_the_reports_show_an_event_with_its_evidence_and_its_course(database, reader):
    write(database, records())
    (event,) = [event for event in reader.report("breaking-now") if "earthquake" in event["headline"].lower()]
    stories, newest = (
        reader.report("event", event=event["event_id"]),
        reader.report("event-newest", event=event["event_id"]),
    )
    assert (
        len(stories)
        == event["stories"]
        == reader.report("event-timeline", event=event["event_id"])[-1]["stories_total"]
        == 9
    )
    assert len(newest) == 3
    assert not {story["story_id"] for story in newest} & {story["story_id"] for story in stories}
    originals = [story["crawled_at"] for story in stories if story["copy_of"] is None]
    assert originals == sorted(originals)
    assert (stories[0]["is_first"], stories[0]["minutes"]) == (True, 0)
    for before, story in pairwise(stories):
        assert story["copy_of"] in {None, before["story_id"], before["copy_of"]}, "copies stand under their original"
    timeline = reader.report("event-timeline", event=event["event_id"])
    assert [update["sequence"] for update in timeline] == list(range(1, len(timeline) + 1))
    assert timeline[0]["state"] == "started"
    assert reader.report("event", event="e-unknown") == []


def test_a_retracted_story_leaves_the_report_of_its_event(database, reader):
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
    (event,) = reader.report("breaking-now")
    stories = {story["story_id"]: story for story in reader.report("event", event=event["event_id"])}
    assert len(stories) == event["stories"] == event["publishers"] == 7
    assert "s03" not in stories
    assert stories["s04"]["title"] == "Earthquake strike nepal town"
    assert stories["s04"]["crawled_at"] == log[4].story.crawled_at


def test_merged_clusters_are_found_from_any_of_their_ids(database):
    write(database)
    engine = create_engine(database)
    with engine.begin() as connection:
        for cluster_id, into in (("c3", None), ("c2", "c3"), ("c1", "c2")):
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
        reader.report("breaking-now")
    assert "secret" not in str(caught.value)
    with pytest.raises(DatabaseError, match="NEWSBURST_POSTGRES is no Postgres URI"):
        create_engine("nonsense")


def test_a_database_that_was_never_migrated_is_said_in_words(database, reader):
    with pytest.raises(DatabaseError, match="newsburst migrate"):
        reader.report("breaking-now")
