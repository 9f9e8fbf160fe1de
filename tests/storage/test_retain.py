"""Retention: what is old goes with what only it refers to; the rest stays, and writers do not notice."""

import threading
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from click.testing import CliRunner

from pipeline.cli import main
from pipeline.replay import replay
from pipeline.storage.engine import create_engine
from pipeline.storage.retain import retain
from pipeline.storage.write import Writer
from tests.make import NOON, fingerprinted
from tests.storage.dump import dump
from tests.storage.test_write import records, write

EVERYTHING = datetime(2100, 1, 1, tzinfo=UTC)


def delete(uri, before, *, events=False, batch=5):
    gone = {}
    for table, number in retain(uri, before, events=events, batch=batch):
        gone[table] = gone.get(table, 0) + number
    return gone


def in_events(found):
    """The stories that events have, by edition and position."""
    return {(row.edition, row.position) for row in found["event_stories"]}


def test_old_stories_go_and_those_of_events_and_the_newer_ones_stay(database):
    lone = next(iter(replay([(99, fingerprinted("lone", "volcano erupts in iceland", 1))])))
    write(database, [*records(), lone.assignment, *lone.clusters])
    before = dump(database)
    middle = NOON + timedelta(minutes=30)
    old = [story for story in before["stories"] if story.crawled_at < middle]
    gone = [story for story in old if (story.edition, story.position) not in in_events(before)]
    assert 0 < len(gone) < len(old) < len(before["stories"])
    assert delete(database, middle)["stories"] == len(gone)
    after = dump(database)
    assert after["stories"] == [story for story in before["stories"] if story not in gone]
    for table in ("events", "event_updates", "event_stories"):
        assert after[table] == before[table]


def test_a_partition_goes_at_once_but_for_the_stories_of_events(database):
    write(database, records())
    before = dump(database)
    kept = in_events(before)
    assert delete(database, EVERYTHING)["stories"] == len(before["stories"]) - len(kept)
    after = dump(database)
    assert {(story.edition, story.position) for story in after["stories"]} == kept
    assert partitions(database) == ["stories_2024_05"]
    assert delete(database, EVERYTHING) == {}


def test_without_stories_of_events_a_partition_is_dropped_and_made_again_when_a_story_comes(database):
    lone = next(iter(replay([(99, fingerprinted("lone", "volcano erupts in iceland", 1))])))
    write(database)
    writer = Writer(database)
    writer.write([lone.assignment, *lone.clusters])
    assert delete(database, EVERYTHING) == {"stories": 1, "clusters": 1}
    assert partitions(database) == []
    writer.write([lone.assignment, *lone.clusters])  # it knows the partition from before
    writer.close()
    assert partitions(database) == ["stories_2024_05"]
    assert len(dump(database)["stories"]) == 1


def partitions(uri):
    """The names of the partitions of stories."""
    engine = create_engine(uri)
    with engine.connect() as connection:
        found = connection.scalars(
            sa.text(
                "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'news.stories'::regclass ORDER BY 1"
            )
        ).all()
    engine.dispose()
    return [name.removeprefix("news.") for name in found]


def test_clusters_go_when_nothing_refers_to_them(database):
    lone = next(iter(replay([(99, fingerprinted("lone", "volcano erupts in iceland", 1))])))
    write(database, [*records(), lone.assignment, *lone.clusters])
    broke = {event.cluster_id for event in dump(database)["events"]}
    delete(database, EVERYTHING)
    after = dump(database)
    assert {cluster.id for cluster in after["clusters"]} >= broke
    assert lone.assignment.cluster_id not in {cluster.id for cluster in after["clusters"]}
    assert delete(database, EVERYTHING, events=True).get("events", 0) == sum(
        event.state == "ended" for event in after["events"]
    )


def test_nothing_is_deleted_twice(database):
    write(database, records())
    delete(database, EVERYTHING)
    assert delete(database, EVERYTHING) == {}


def test_a_worker_may_write_meanwhile(database):
    made = records()
    write(database, made)
    stop, refused = threading.Event(), []

    def again():
        writer = Writer(database)
        while not stop.is_set():
            refused.extend(writer.write_acceptable(made))
        writer.close()

    writing = threading.Thread(target=again)
    writing.start()
    for _ in range(20):
        list(retain(database, NOON + timedelta(minutes=10), events=True, batch=3))
    stop.set()
    writing.join()
    assert refused == []


def test_what_workers_still_look_back_to_is_not_deleted(settings):
    result = CliRunner().invoke(main, ["retain", "--days", "4"], env=settings.environment())
    assert result.exit_code == 2
    assert "NEWSBURST_LOOK_BACK_HOURS=96" in result.output


def test_the_command_says_what_went(settings, reader):
    write(settings.postgres, records())
    result = CliRunner().invoke(main, ["retain", "--days", "365"], env=settings.environment())
    assert result.exit_code == 0, result.output
    events = reader.report("breaking-now")
    assert events
    assert reader.count("stories") == reader.count("event_stories") == sum(event["stories"] for event in events)
    assert f"{24 - reader.count('stories')} stories" in result.output
    for event in events:
        assert len(reader.report("event", event=event["event_id"])) == event["stories"], "its stories are kept with it"
