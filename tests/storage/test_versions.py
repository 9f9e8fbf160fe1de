"""Versions of stories, publishers, and fields of the producer's own: the same whatever the order in which records come."""

import random

import msgspec
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.replay import replay
from pipeline.stages.rules import DetectRule
from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import migrate
from pipeline.storage.positions import forget_positions
from pipeline.storage.schema import metadata
from pipeline.storage.write import Writer
from pipeline.times import HOUR
from tests.make import fingerprinted
from tests.storage.dump import dump, write

RULE = DetectRule(threshold=3, window=HOUR, min_publishers=2)
TEXT = "earthquake strike nepal capital"


def revised_records():
    """Eight stories; one is corrected twice, one retracted and restored; all come again after their cluster has died."""
    log = [fingerprinted(f"s{n}", TEXT, n, publisher=f"P{n}") for n in range(8)]
    log += [
        fingerprinted("s3", "earthquake strike nepal town", 20, publisher="P3"),
        fingerprinted("s5", TEXT, 21, publisher="P5", retracted=True),
        fingerprinted("s3", "earthquake strike nepal valley", 22, publisher="P9"),
        fingerprinted("s5", TEXT, 23, publisher="P5"),
        fingerprinted("s6", TEXT, 24, publisher="P6", retracted=True),
    ]
    log += [fingerprinted(f"s{n}", TEXT, 100_000 + n, publisher=f"P{n}") for n in range(8)]
    return [
        record
        for step in replay(enumerate(log), detect_rule=RULE)
        for record in (step.assignment, *step.clusters, *step.updates)
    ]


def test_earlier_versions_are_kept_and_the_last_is_the_story(database):
    write(database, revised_records())
    found = dump(database)
    versions = [(row.id, row.position, row.revision, row.title, row.retracted) for row in found["story_versions"]]
    assert versions == [
        ("s3", 3, 3, "Earthquake strike nepal capital", False),
        ("s3", 3, 8, "Earthquake strike nepal town", False),
        ("s5", 5, 5, "Earthquake strike nepal capital", False),
        ("s5", 5, 9, "Earthquake strike nepal capital", True),
        ("s6", 6, 6, "Earthquake strike nepal capital", False),
    ]
    now = {row.position: row for row in found["stories"] if row.position < 8}
    assert (now[3].title, now[3].publisher, now[3].revision) == ("Earthquake strike nepal valley", "P9", 10)
    assert [position for position, row in now.items() if row.retracted] == [6]
    assert now[3].duplicate_of == "s0", "what clustering found stays"


def test_a_story_of_two_lives_is_two_rows(database, reader):
    write(database, revised_records())
    lives = reader.report("story", story="s0")
    assert [len(life["event_ids"]) for life in lives] == [1, 1]
    assert len({life["cluster_id"] for life in lives}) == 2


@given(st.randoms(use_true_random=False), st.integers(1, 9))
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
def test_any_order_and_any_batches_give_the_same(new_database, shuffler, size):
    made = revised_records()
    in_order = dump_of(new_database, [made])
    mixed = made * 2
    shuffler.shuffle(mixed)
    assert dump_of(new_database, [mixed[at : at + size] for at in range(0, len(mixed), size)]) == in_order


KEPT = {}


def dump_of(new_database, batches):
    """What a database holds after these batches; one database is used again, as it takes long to make one."""
    if "uri" not in KEPT or KEPT["made_by"] is not new_database:
        KEPT.update(uri=new_database(), made_by=new_database)
        migrate(KEPT["uri"])
    engine = create_engine(KEPT["uri"])
    with engine.begin() as connection:
        tables = ", ".join(table.fullname for table in metadata.sorted_tables)
        connection.execute(sa.text(f"TRUNCATE {tables}"))
    engine.dispose()
    write(KEPT["uri"], *batches)
    return dump(KEPT["uri"])


def test_publishers_have_the_time_of_their_first_and_last_story_and_their_country(database):
    log = [fingerprinted(f"s{n}", TEXT, n, publisher="The Paper") for n in (5, 1, 9)]
    log = [
        msgspec.structs.replace(
            one, story=msgspec.structs.replace(one.story, url=f"https://paper.co.nz/{one.story.id}")
        )
        for one in log
    ]
    made = [step.assignment for step in replay(enumerate(log))]
    random.Random(1).shuffle(made)
    write(database, *([record] for record in made))
    (publisher,) = dump(database)["publishers"]
    assert publisher == ("en", log[0].story.family, log[1].story.crawled_at, log[2].story.crawled_at, "NZ")


def test_fields_of_the_producer_are_in_the_column_extra(database, reader):
    one = fingerprinted("s1", TEXT, 1)
    extra = {"desk": "Lima", "rank": [1, 2.5, None], "nul": "a\x00b"}
    one = msgspec.structs.replace(one, story=msgspec.structs.replace(one.story, extra=extra))
    write(database, [next(iter(replay([(0, one)]))).assignment])
    (story,) = reader.report("story", story="s1")
    assert story["extra"] == {"desk": "Lima", "rank": [1, 2.5, None], "nul": "a\ufffdb"}


def test_an_update_that_comes_late_changes_no_stories_of_its_event(database):
    made = revised_records()
    migrate(database)
    writer = Writer(database)
    writer.write(made)
    before = dump(database)
    for record in made:
        writer.write([record])
    writer.close()
    assert dump(database) == before


def test_when_the_log_begins_again_what_stands_stays_and_what_comes_is_new(database, reader):
    """As after `newsburst state reset`, which may be run more than once."""
    made = revised_records()
    write(database, made)
    before = {event["event_id"]: reader.report("event", event=event["event_id"]) for event in reader.report("events")}
    forget_positions(database)
    forget_positions(database)
    assert all(row.position < 0 for row in dump(database)["stories"])
    fresh = [fingerprinted(f"n{n}", "bank cut interest rate", 200_000 + n, publisher=f"P{n}") for n in range(8)]
    write(
        database,
        [
            record
            for step in replay(enumerate(fresh), detect_rule=RULE)
            for record in (step.assignment, *step.clusters, *step.updates)
        ],
    )
    after = {event["event_id"]: reader.report("event", event=event["event_id"]) for event in reader.report("events")}
    assert {key: after[key] for key in before} == before
    assert len(after) == len(before) + 1
    assert len(dump(database)["stories"]) == 16 + 8


def test_the_same_stories_after_a_reset_are_an_event_again_whose_counts_agree(database, reader):
    log = [fingerprinted(f"s{n}", TEXT, n, publisher=f"P{n}") for n in range(20)]

    def made(count, first=0):
        steps = replay(enumerate(log[:count], first), detect_rule=RULE)
        return [record for step in steps for record in (step.assignment, *step.clusters, *step.updates)]

    write(database, made(20))
    for count in (8, 12):
        forget_positions(database)
        write(database, made(count, 3))
        (event,) = reader.report("events")
        stories = reader.report("event", event=event["event_id"])
        last = reader.report("event-timeline", event=event["event_id"])[-1]
        assert len(stories) == event["stories"] == last["stories_total"] == reader.count("event_stories")
        assert len({story["story_id"] for story in stories}) == len(stories)
    (cluster,) = dump(database)["clusters"]
    assert (cluster.stories, cluster.headline is None) == (12, False), "what only mentions it does not blank it"
