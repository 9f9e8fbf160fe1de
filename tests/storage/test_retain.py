"""Retention: what is old goes with what only it refers to; the rest stays, and writers do not notice."""

import threading
from datetime import UTC, datetime, timedelta

from click.testing import CliRunner

from pipeline.cli import main
from pipeline.replay import replay
from pipeline.storage.retain import retain
from pipeline.storage.write import Writer
from tests.make import NOON, fingerprinted
from tests.storage.dump import dump
from tests.storage.test_write import records, write

EVERYTHING = datetime(2100, 1, 1, tzinfo=UTC)


def delete(uri, before, *, events=False, batch=5):
    gone = {}
    for table, number in retain(uri, before, events=events, batch=batch):
        assert number <= batch
        gone[table] = gone.get(table, 0) + number
    return gone


def test_old_stories_go_with_their_links_and_the_others_stay(database):
    write(database, records())
    before = dump(database)
    middle = NOON + timedelta(minutes=20)
    old = {story.id for story in before["stories"] if story.crawled_at < middle}
    assert 0 < len(old) < len(before["stories"])
    assert delete(database, middle)["stories"] == len(old)
    after = dump(database)
    assert after["stories"] == [story for story in before["stories"] if story.id not in old]
    assert {row.story_id for row in after["cluster_stories"]} == {story.id for story in after["stories"]}
    assert not {link.story_id for link in after["story_links"]} & old
    assert (after["events"], after["event_updates"]) == (before["events"], before["event_updates"])


def test_clusters_go_when_nothing_refers_to_them(database):
    lone = next(iter(replay([(99, fingerprinted("lone", "volcano erupts in iceland", 1))])))
    write(database, [*records(), lone.assignment, *lone.clusters])
    broke = {event.cluster_id for event in dump(database)["events"]}
    delete(database, EVERYTHING)
    after = dump(database)
    assert after["stories"] == []
    assert {cluster.id for cluster in after["clusters"]} == broke  # their events are kept
    assert lone.assignment.cluster_id not in broke
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
    assert "24 stories" in result.output
    assert reader.count("stories") == 0
    for event in reader.breaking():
        assert reader.event(event["event_id"]), "its evidence is there, when its stories are not"
