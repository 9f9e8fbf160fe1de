"""Links in Postgres: the same whatever the order in which alerts come, and reports that follow them."""

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import msgspec
import pytest
import sqlalchemy as sa

from pipeline.records import Assignment, EventStory, EventUpdate, NormalisedStory, Rule
from pipeline.stages.detect.members import Member, pack
from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import migrate
from pipeline.storage.read import Reader
from pipeline.storage.write import Writer
from pipeline.times import to_micros
from tests.multilingual import NOON, rows
from tests.storage.dump import write

QUAKE = ["es", "ru", "en"]


def update(event, language, minutes, state="started", sequence=1, **fields):
    """An update of an event, with the headlines of the set as evidence."""
    at = NOON + timedelta(minutes=minutes)
    titles = [row["title"] for row in rows("one_event_many_languages")[language] if row["event"] == event]
    name = f"{event}-{language}"
    evidence = [
        EventStory(id=f"{name}-{n}", title=title, publisher=f"Paper {n}", url="https://a.example", crawled_at=at)
        for n, title in enumerate(titles)
    ]
    values = {
        "event_id": f"e-{name}", "sequence": sequence, "state": state, "cluster_id": f"c-{name}", "edition": language,
        "position": minutes, "at": at, "rule": Rule(threshold=15, window_seconds=14_400, min_publishers=10),
        "headline": titles[0], "stories_in_window": 16, "publishers_in_window": 11, "copies_in_window": 0,
        "stories_total": 16, "burst_score": 9.0, "window_start": at, "window_end": at, "first_seen": at, "last_seen": at,
        "caused_by": f"{name}-0", "caused_by_received_at": at, "stories": evidence,
    }  # fmt: skip
    return EventUpdate(**(values | fields))


def members(positions, minutes=0):
    """The members of an event, packed."""
    time = to_micros(NOON + timedelta(minutes=minutes))
    return pack(Member(position, time, 50) for position in positions)


def assignments(event, language, minutes, families):
    """Stories of an event, one of each publisher family."""
    at = NOON + timedelta(minutes=minutes)
    for number, family in enumerate(families):
        story = NormalisedStory(
            id=f"{event}-{language}-{number}", edition=language, url="https://a.example", title="x", publisher=family,
            family=family, language=language, crawled_at=at, received_at=at, tokens=["x"], marked=[],
        )  # fmt: skip
        yield Assignment(
            story=story,
            simhash="0" * 16,
            position=number,
            cluster_id=f"c-{event}-{language}",
            merged=[],
            weights={},
            similar=[],
        )


ALERTS = [update("quake-peru", language, 10 * number) for number, language in enumerate(QUAKE)]
OTHERS = [update("quake-iran", "tr", 5), update("resign-slovakia", "de", 7), update("quake-peru", "pt", 3_000)]


def links(uri):
    engine = create_engine(uri)
    with engine.connect() as connection:
        found = connection.execute(
            sa.text("SELECT event_id, other_id, score FROM news.event_links ORDER BY 1, 2")
        ).all()
    engine.dispose()
    return [tuple(row) for row in found]


def test_alerts_of_one_happening_are_linked_both_ways(database):
    write(database, [*ALERTS, *OTHERS])
    found = {(event, other): score for event, other, score in links(database)}
    assert found.keys() == {(f"e-quake-peru-{a}", f"e-quake-peru-{b}") for a in QUAKE for b in QUAKE if a != b}
    assert all(found[event, other] == found[other, event] for event, other in found)


def test_order_repeats_and_batches_do_not_change_links(new_database):
    expected = None
    for seed in range(4):
        alerts = [*ALERTS, *OTHERS] * 2
        random.Random(seed).shuffle(alerts)
        uri = new_database()
        write(uri, *([alert] for alert in alerts)) if seed else write(uri, alerts)
        expected = expected or links(uri)
        assert links(uri) == expected


def test_alerts_that_are_written_at_once_are_linked(new_database):
    for _ in range(5):
        uri = new_database()
        migrate(uri)
        writers = [Writer(uri) for _ in ALERTS]
        with ThreadPoolExecutor(len(ALERTS)) as pool:
            list(pool.map(lambda writer, alert: writer.write([alert]), writers, ALERTS))
        for writer in writers:
            writer.close()
        assert len(links(uri)) == 6


@pytest.fixture
def reader(database):
    write(database, [*ALERTS, *OTHERS])
    reader = Reader(database)
    yield reader
    reader.close()


def test_the_report_of_an_event_names_those_linked_with_it_in_the_order_of_their_alerts(reader):
    found = reader.report("linked-events", event="e-quake-peru-ru")
    assert [(row["edition"], row["minutes_earlier"]) for row in found] == [("es", 10), ("en", -10)]
    assert all("PE" in row["places"] for row in found)
    assert reader.report("linked-events", event="e-quake-iran-tr") == []


def test_the_world_counts_a_publisher_once_over_all_editions(database, reader):
    shared = ["reuters", "afp"]
    told = [
        *assignments("quake-peru", "es", 0, [*shared, "el pais"]),
        *assignments("quake-peru", "ru", 10, [*shared, "tass"]),
        *assignments("quake-iran", "tr", 5, ["hurriyet"]),
    ]
    updates = [
        update("quake-peru", language, minutes, "updated", 2, members=members(range(3), minutes), stories_total=3)
        for language, minutes in (("es", 0), ("ru", 10))
    ]
    write(database, told, updates)
    (row,) = reader.report("world", since=NOON)
    assert (row["event_id"], row["editions"], row["events"]) == ("e-quake-peru-es", ["es", "ru", "en"], 3)
    assert (row["stories"], row["publishers"]) == (6, 4)
    assert reader.report("world", since=NOON + timedelta(days=1)) == []


def test_an_event_that_was_merged_into_another_stays_linked_by_it(database, reader):
    survivor = update("ferry-java", "ru", 40, event_id="e-other-ru", cluster_id="c-other-ru")
    merged = update("quake-peru", "ru", 50, state="ended", sequence=2, merged_into="e-other-ru")
    write(database, [survivor, merged])
    assert [row["event_id"] for row in reader.report("linked-events", event="e-quake-peru-es")] == [
        "e-quake-peru-en",
        "e-other-ru",
    ]


def test_an_event_that_is_deleted_meanwhile_is_not_linked_and_the_alert_is_kept(database):
    """As `newsburst retain --events` deletes them."""
    write(database, ALERTS[:1])
    engine, writer = create_engine(database), Writer(database)
    with ThreadPoolExecutor(1) as pool, engine.connect() as connection:
        connection.execute(sa.text("DELETE FROM news.events WHERE id = :id"), {"id": ALERTS[0].event_id})
        writing = pool.submit(writer.write_acceptable, [ALERTS[1]])
        with pytest.raises(TimeoutError):
            writing.result(1)  # it waits for the deletion
        connection.commit()
        assert writing.result(30) == []
    writer.close()
    engine.dispose()
    assert links(database) == []
    reader = Reader(database)
    assert [row["id"] for row in reader.events()] == [ALERTS[1].event_id]
    reader.close()


def test_the_world_follows_merges_and_leaves_out_stories_of_later_events(database, reader):
    survivor = update("ferry-java", "ru", 300, event_id="e-other-ru", cluster_id="c-quake-peru-ru")
    merged = update("quake-peru", "ru", 50, state="ended", sequence=2, merged_into="e-other-ru")
    later = update("verdict-peru", "es", 400, event_id="e-later-es", cluster_id="c-quake-peru-es")
    stories = [
        *assignments("quake-peru", "es", 0, ["el pais"]),
        *(replace_id(row) for row in assignments("quake-peru", "es", 420, ["later"])),
    ]
    of_first = update("quake-peru", "es", 0, "updated", 2, members=members([0]), stories_total=1)
    write(database, [survivor, merged, later, of_first, *stories])
    (row,) = reader.report("world", since=NOON + timedelta(minutes=200))
    assert (row["event_id"], row["editions"], row["stories"]) == ("e-quake-peru-es", ["es", "en", "ru"], 1)


def replace_id(row):
    """The assignment of another story."""
    return msgspec.structs.replace(row, story=msgspec.structs.replace(row.story, id=row.story.id + "-later"))


@pytest.mark.parametrize("into", ["e-gone", "e-quake-peru-ru"])
def test_an_event_merged_into_none_that_is_there_survives(database, reader, into):
    write(database, [update("quake-peru", "ru", 50, state="ended", sequence=2, merged_into=into)])
    assert [row["event_id"] for row in reader.report("linked-events", event="e-quake-peru-es")] == [
        "e-quake-peru-ru",
        "e-quake-peru-en",
    ]
