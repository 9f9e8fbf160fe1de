"""A database from before stories had positions, with data, becomes what the same records make now."""

import uuid

import msgspec
import pytest
import sqlalchemy as sa
from alembic import command

from pipeline.records import Assignment, Cluster, EventUpdate
from pipeline.replay import replay
from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import _config, migrate
from pipeline.storage.rows import cluster_row, event_row, story_row, update_row
from tests import reports
from tests.make import fingerprinted
from tests.storage.dump import dump, write

NEW_IN_EVENTS = ("started_at", "ended_at", "publishers_total", "reopened")
NEW_IN_UPDATES = ("started_at", "publishers_total", "reopened", "members")


def old_rows(records):
    """What the writer of revision 0006 made of these records, by table."""
    tables = {name: {} for name in ("clusters", "stories", "cluster_stories", "story_links", "events", "event_updates")}
    for record in records:
        match record:
            case Cluster():
                tables["clusters"][record.id] = cluster_row(record)
            case Assignment():
                row = story_row(record)
                key = (row["edition"], row["id"])
                of_table = ("id", "edition", "url", "title", "publisher", "family", "language", "crawled_at", "received_at",
                            "published_at", "simhash", "late", "retracted")  # fmt: skip
                tables["stories"][key] = {name: row[name] for name in of_table} | {"position": record.position}
                if record.revision:
                    continue
                link = {"edition": row["edition"], "story_id": row["id"]}
                tables["cluster_stories"][*key, record.cluster_id] = {
                    **link, "cluster_id": record.cluster_id, "position": record.position,
                }  # fmt: skip
                for similar in record.similar:
                    tables["story_links"][*key, similar.story_id, "similar"] = {
                        **link, "other_id": similar.story_id, "kind": "similar", "score": similar.score,
                    }  # fmt: skip
                if record.duplicate_of:
                    tables["story_links"][*key, record.duplicate_of, "duplicate"] = {
                        **link, "other_id": record.duplicate_of, "kind": "duplicate", "score": None,
                    }  # fmt: skip
            case EventUpdate():
                row = event_row(record)
                tables["events"][record.event_id] = {name: row[name] for name in row if name not in NEW_IN_EVENTS}
                old = msgspec.to_builtins(update_row(record)["record"])
                row = update_row(record) | {"record": {name: old[name] for name in old if name not in NEW_IN_UPDATES}}
                tables["event_updates"][record.event_id, record.sequence] = row
    return {name: list(rows.values()) for name, rows in tables.items()}


def at_revision_6(uri, rows):
    """Make the database as it was at revision 0006, with these rows."""
    engine = create_engine(uri)
    config = _config()
    with engine.begin() as connection:
        connection.execute(sa.schema.CreateSchema("news"))
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0006")
        connection.commit()
        old = sa.MetaData(schema="news")
        old.reflect(connection)
        for name in ("clusters", "stories", "cluster_stories", "story_links", "events", "event_updates"):
            if rows[name]:
                connection.execute(sa.insert(old.tables[f"news.{name}"]), rows[name])
        connection.commit()
    engine.dispose()


@pytest.fixture(scope="module")
def records():
    """Those of the examples of docs/reports.md."""
    return reports.records()


def test_what_stands_is_carried_over(new_database, records):
    old, fresh = new_database(), new_database()
    rows = old_rows(records)
    at_revision_6(old, rows)
    role = f"reads_{uuid.uuid4().hex[:8]}"
    engine = create_engine(old)
    with engine.begin() as connection:
        connection.execute(sa.text(f"CREATE ROLE {role}"))
        connection.execute(sa.text(f"GRANT SELECT ON ALL TABLES IN SCHEMA news TO {role}"))
    migrate(old)
    write(fresh, records)
    found, wanted = dump(old), dump(fresh)

    assert found["clusters"] == wanted["clusters"]
    assert list(map(of_story, found["stories"])) == list(map(of_story, wanted["stories"]))
    assert [row[:4] for row in found["publishers"]] == [row[:4] for row in wanted["publishers"]]
    once = alone(wanted["events"])
    assert len(once) > 60
    stories = [
        [(row.event_id, row.position) for row in each["event_stories"] if row.event_id in once]
        for each in (found, wanted)
    ]
    assert stories[0] == stories[1]
    events = [{row.id: row for row in each["events"]} for each in (found, wanted)]
    assert {key: events[0][key] for key in once} == {key: events[1][key] for key in once}

    with engine.begin() as connection:
        links = connection.execute(sa.text("SELECT story_id, other_id, kind FROM news.story_links")).all()
        assert sorted(links) == sorted((row["story_id"], row["other_id"], row["kind"]) for row in rows["story_links"])
        for event_id in events[0]:
            counts = connection.execute(
                sa.text(
                    "SELECT stories_total, (SELECT count(*) FROM news.report_event(id)) FROM news.events WHERE id = :id"
                ),
                {"id": event_id},
            ).one()
            assert counts[0] == counts[1]
        for table in ("stories", "event_stories", "story_versions", "publishers", "story_links", "events"):
            assert connection.scalar(sa.text(f"SELECT has_table_privilege('{role}', 'news.{table}', 'SELECT')"))
        connection.execute(sa.text(f"DROP OWNED BY {role}"))
        connection.execute(sa.text(f"DROP ROLE {role}"))
    engine.dispose()
    write(old, records)  # what comes again changes nothing but what was not known
    assert dump(old)["event_stories"] == wanted["event_stories"]


def of_story(row):
    """A story as it can be carried over: equal scores in any order."""
    values = row._asdict() | {"extra": None}
    similar = sorted(zip(values.pop("similar_scores") or [], values.pop("similar_ids") or [], strict=True))
    return values, similar


def alone(events):
    """The events that are the only one of their cluster, and that none was merged into."""
    clusters = [event.cluster_id for event in events]
    return {event.id for event in events if clusters.count(event.cluster_id) == 1}


def test_a_story_of_two_lives_that_copied_twice_is_carried_over(new_database):
    text = "earthquake strike nepal capital"
    log = [
        fingerprinted("a", text, 0, publisher="A"),
        fingerprinted("b", text, 1, publisher="B"),
        fingerprinted("c", text, 100_000, publisher="C"),
        fingerprinted("b", text, 100_001, publisher="B"),
    ]
    old = new_database()
    at_revision_6(old, old_rows([row for step in replay(enumerate(log)) for row in (step.assignment, *step.clusters)]))
    migrate(old)
    assert [(row.id, row.position) for row in dump(old)["stories"]] == [("a", 0), ("b", 1), ("c", 2), ("b", 3)]
