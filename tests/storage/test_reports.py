"""The reports: the page says what they answer, counts agree to the row, indexes are used, and readers can only read."""

import json
import re
import uuid

import pytest
import sqlalchemy as sa

from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import migrate
from pipeline.storage.read import Reader
from pipeline.storage.reports import REPORTS
from tests import reports


@pytest.fixture(scope="module")
def examples(postgres_server):
    """A database that holds what the examples of docs/reports.md are about."""
    name = f"examples_{uuid.uuid4().hex[:12]}"
    engine = create_engine(postgres_server).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    uri = sa.make_url(postgres_server).set(database=name).render_as_string(hide_password=False)
    reports.prepare(uri)
    yield uri
    with engine.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


@pytest.fixture
def connection(examples):
    """A connection to it."""
    engine = create_engine(examples)
    with engine.connect() as opened:
        yield opened
    engine.dispose()


def test_the_page_shows_what_the_reports_return(examples):
    assert reports.examples(examples) == reports.PAGE.read_text(encoding="utf-8"), "Run `python -m tests.reports`."


def test_every_report_has_its_question_on_the_page_and_as_the_beginning_of_its_comment(connection):
    page = reports.PAGE.read_text(encoding="utf-8")
    comments = dict(
        connection.execute(
            sa.text(
                "SELECT proname, obj_description(oid, 'pg_proc') FROM pg_proc WHERE pronamespace = 'news'::regnamespace "
                "UNION SELECT relname, obj_description(oid, 'pg_class') FROM pg_class WHERE relnamespace = 'news'::regnamespace"
            )
        ).all()
    )
    there = {name for name in comments if name.startswith("report_")} | {"similar_stories"}
    assert {report.sql_name for report in REPORTS.values()} == there
    for report in REPORTS.values():
        assert comments[report.sql_name].startswith(report.question)
        assert f"news.{report.sql_name}" in page


def test_counts_agree_to_the_row_for_every_event(connection):
    events = connection.execute(sa.text("SELECT id, stories_total, publishers_total FROM news.events")).all()
    assert len(events) > 70
    for event_id, stories, publishers in events:
        rows = connection.execute(
            sa.text("SELECT count(*), count(DISTINCT story_id), count(title) FROM news.report_event(:event)"),
            {"event": event_id},
        ).one()
        last = connection.scalar(
            sa.text("SELECT stories_total FROM news.report_event_timeline(:event) ORDER BY sequence DESC LIMIT 1"),
            {"event": event_id},
        )
        curve = connection.execute(
            sa.text("SELECT sum(stories), max(publishers_so_far) FROM news.report_event_curve(:event)"),
            {"event": event_id},
        ).one()
        assert (*rows, last) == (stories,) * 4
        assert tuple(curve) == (stories, publishers)


def test_the_first_to_report_is_the_first_of_the_special_report(connection):
    for event_id in connection.scalars(sa.text("SELECT id FROM news.events ORDER BY id LIMIT 20")).all():
        stories = connection.execute(sa.text("SELECT * FROM news.report_event(:event)"), {"event": event_id}).all()
        first = connection.execute(
            sa.text("SELECT * FROM news.report_event_publishers(:event)"), {"event": event_id}
        ).first()
        assert (stories[0].is_first, stories[0].minutes, first.minutes) == (True, 0, 0)
        assert first.title == stories[0].title
        assert [story.is_stray for story in stories] == sorted(story.is_stray for story in stories)


def test_similar_stories_finds_exactly_what_a_comparison_with_all_finds(connection):
    for bits in (0, 3, 5, 7):
        for story_id, simhash in connection.execute(
            sa.text("SELECT id, simhash FROM news.stories ORDER BY md5(id) LIMIT 10")
        ).all():
            found = connection.execute(
                sa.text('SELECT story_id, bits FROM news.similar_stories(:story, :bits, "limit" => 10000)'),
                {"story": story_id, "bits": bits},
            ).all()
            wanted = connection.execute(
                sa.text(
                    "SELECT id, bit_count((simhash # :simhash)::bit(64))::int AS bits FROM news.stories "
                    "WHERE bit_count((simhash # :simhash)::bit(64)) <= :bits AND NOT retracted AND id <> :story"
                ),
                {"simhash": simhash, "bits": bits, "story": story_id},
            ).all()
            assert sorted(found) == sorted(wanted)


def test_similar_stories_takes_a_fingerprint_and_refuses_what_it_does_not_search(connection):
    story_id, simhash = connection.execute(sa.text("SELECT id, simhash FROM news.stories ORDER BY id LIMIT 1")).one()
    found = connection.scalars(
        sa.text("SELECT story_id FROM news.similar_stories(:hex, 0)"), {"hex": f"{simhash % 2**64:016x}"}
    ).all()
    assert story_id in found
    with pytest.raises(sa.exc.DBAPIError, match="distance is 8: it should be 0 to 7 bits"):
        connection.execute(sa.text("SELECT * FROM news.similar_stories(:story, 8)"), {"story": story_id})


@pytest.mark.parametrize(
    ("query", "language"),
    [("separates", "en"), ("землетрусу", "uk"), ("deprem", "tr"), ('"gwyneth paltrow"', "en"), ("separati", "en")],
)
def test_search_knows_the_language_and_how_words_begin(connection, query, language):
    rows = connection.execute(
        sa.text("SELECT * FROM news.report_search(:query, edition => :language)"),
        {"query": query, "language": language},
    ).all()
    assert "story" in {row.kind for row in rows}
    assert {row.edition for row in rows} == {language}


def test_a_part_of_a_language_is_searched_in_that_language_and_is_reported_with_it(connection):
    stemmed = "SELECT news.headline_words('en-sport', 'Ferries sink') @@ news.headline_query('ferry', 'en-sport')"
    signs = "SELECT news.headline_words('ja-sport', '東京で大規模な地震') @@ news.headline_query('地震', 'ja-sport')"
    assert connection.scalar(sa.text(stemmed))
    assert connection.scalar(sa.text(signs))
    wanted = (
        "SELECT array_agg(news.is_of(edition, :wanted)) FROM unnest(ARRAY['en', 'en-sport', 'de', 'eng']) AS edition"
    )
    found = {name: connection.scalar(sa.text(wanted), {"wanted": name}) for name in ("en", "en-sport", None)}
    assert found == {"en": [True, True, False, False], "en-sport": [False, True, False, False], None: [True] * 4}


def test_counts_of_a_language_with_parts_are_those_of_its_stories(connection):
    """Once all English stories of the last day are of a part, reports on English say the same as before."""
    asked = (
        "SELECT count(*), sum(stories) FROM news.report_volume('en', '1 hour', '2014-03-24')",
        "SELECT count(*), sum(stories) FROM news.report_emerging_now(2, 'en')",
        "SELECT count(*), sum(last_hour) FROM news.report_growing_now(2, 'en')",
        "SELECT count(*), max(stories) FROM news.report_events(edition => 'en')",
        "SELECT count(*), sum(stories) FROM news.report_publishers('2014-03-01', 'en')",
    )
    before = [connection.execute(sa.text(query)).one() for query in asked]
    for table in ("stories", "clusters", "events", "event_stories", "publishers"):
        connection.execute(sa.text(f"UPDATE news.{table} SET edition = 'en-world' WHERE edition = 'en'"))
    assert [connection.execute(sa.text(query)).one() for query in asked] == before
    assert all(row[0] for row in before)
    connection.rollback()


def test_search_finds_pairs_of_signs_where_words_are_not_separated(connection):
    words = "SELECT news.headline_words('ja', '東京で大規模な地震が発生') @@ news.headline_query(:query, 'ja')"
    assert [connection.scalar(sa.text(words), {"query": query}) for query in ("地震", "東京", "大阪")] == [
        True,
        True,
        False,
    ]


NASTY = [
    "-" * 40 + " plane",
    "plane " + "- " * 40,
    "'",
    "a & | !",
    ":*",
    "\\",
    "%",
    "<->",
    "((",
    "\u202e",
    "x" * 10_000,
    "",
    "-",
    "or",
    "\U0001f525",
    "地",
]


@pytest.mark.parametrize("query", NASTY)
def test_no_query_is_an_error(examples, query):
    reader = Reader(examples)
    reader.report("search", query=query)
    reader.report("story", story=query)
    reader.report("similar-stories", story=query)
    reader.report("missed-by", family=query)
    reader.close()


USED = {
    "SELECT * FROM news.stories WHERE id = 'x'": "_id_idx",
    "SELECT * FROM news.stories WHERE url = 'x'": "_url_idx",
    "SELECT * FROM news.stories WHERE crawled_at > now()": "_crawled_at_idx",
    "SELECT * FROM news.stories WHERE cluster_id = 'x'": "_cluster_id_idx",
    "SELECT * FROM news.stories WHERE duplicate_of = 'x'": "_duplicate_of_idx",
    "SELECT * FROM news.stories WHERE edition = 'en' AND position = 1": "_pkey",
    "SELECT * FROM news.stories WHERE news.headline_words(edition, title) @@ 'quake'::tsquery": "_headline_words_idx",
    "SELECT * FROM news.stories WHERE news.simhash_blocks(simhash) && ARRAY[1]": "_simhash_blocks_idx",
    "SELECT * FROM news.event_stories WHERE event_id = 'x'": "event_stories_pkey",
    "SELECT * FROM news.event_stories WHERE edition = 'en' AND position = 1": "event_stories_edition_position_idx",
    "SELECT * FROM news.events WHERE cluster_id = 'x'": "events_cluster_id_idx",
    "SELECT * FROM news.events WHERE state <> 'ended' ORDER BY last_seen": "events_active_idx",
}


@pytest.mark.parametrize("query", USED)
def test_what_reports_look_up_is_looked_up_in_an_index(connection, query):
    connection.execute(sa.text("SET enable_seqscan = off"))  # the sample is so small that reading it all is cheaper
    plan = "\n".join(connection.exec_driver_sql(f"EXPLAIN {query}").scalars())
    assert USED[query] in plan
    assert "Seq Scan" not in plan


REPORTED = [
    ("report_event", "'e'", ("event_stories_pkey", "_pkey")),
    ("report_story", "'e'", ("_id_idx", "_url_idx")),
    ("similar_stories", "'uci-43635'", ("_simhash_blocks_idx",)),
    ("report_search", "'paltrow'", ("_headline_words_idx",)),
    ("report_breaking_now", None, ("_crawled_at_idx",)),
]


@pytest.mark.parametrize(("report", "argument", "indexes"), REPORTED)
def test_a_report_uses_its_indexes(connection, report, argument, indexes):
    """The statistics of Postgres count the scans of each index, whatever functions are between.

    In a sample, other indexes can be as good: without ordered scans the most selective one is.
    """
    for way in ("seqscan", "indexscan", "indexonlyscan"):
        connection.execute(sa.text(f"SET enable_{way} = off"))

    def scans():
        connection.execute(sa.text("SELECT pg_stat_force_next_flush()"))
        connection.commit()
        connection.execute(sa.text("SELECT pg_stat_clear_snapshot()"))
        rows = connection.execute(
            sa.text("SELECT indexrelname, idx_scan FROM pg_stat_user_indexes WHERE schemaname = 'news'")
        ).all()
        return {index: sum(scan for name, scan in rows if index in name) for index in indexes}

    event = connection.scalar(sa.text("SELECT id FROM news.events WHERE state <> 'ended' LIMIT 1"))
    before = scans()
    given = "" if argument is None else f"({argument})".replace("'e'", f"'{event}'")
    connection.exec_driver_sql(f"SELECT * FROM news.{report}{given}").all()
    after = scans()
    assert all(after[index] > before[index] for index in indexes), (before, after)


def test_a_reader_can_run_every_report_and_write_nothing(examples):
    role = f"reads_{uuid.uuid4().hex[:8]}"
    password = sa.make_url(examples).password
    engine = create_engine(examples).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE ROLE {role} LOGIN PASSWORD '{password}'"))
        connection.execute(sa.text(f"GRANT USAGE ON SCHEMA news TO {role}"))
        connection.execute(sa.text(f"GRANT SELECT ON ALL TABLES IN SCHEMA news TO {role}"))
        event = connection.scalar(sa.text("SELECT id FROM news.events LIMIT 1"))
    uri = sa.make_url(examples).set(username=role).render_as_string(hide_password=False)
    reader = Reader(uri)
    values = {"event": event, "story": "uci-43635", "query": "paltrow", "family": "reuters"}
    for report in REPORTS.values():
        given = {report.argument: values[report.argument]} if report.argument else {}
        reader.report(report.name, limit=3, **given)
    reader.close()
    mine = create_engine(uri)
    for statement in (
        "DELETE FROM news.stories",
        "UPDATE news.events SET state = 'ended'",
        "SELECT news.make_partition('2000-05-05')",
        "SELECT news.forget_left_stories(ARRAY['x'], ARRAY[1])",
        "CREATE TABLE news.mine (x int)",
    ):
        with (
            pytest.raises(sa.exc.ProgrammingError, match=r"permission denied|may not write"),
            mine.begin() as session,
        ):
            session.execute(sa.text(statement))
    mine.dispose()
    with engine.connect() as connection:
        connection.execute(sa.text(f"DROP OWNED BY {role}"))
        connection.execute(sa.text(f"DROP ROLE {role}"))
    engine.dispose()


@pytest.mark.parametrize("step", ["0", "-1 hour", "1 month", "1 second"])
def test_a_step_that_cannot_be_is_refused_in_words(connection, step):
    longest = connection.scalar(sa.text("SELECT id FROM news.events ORDER BY last_seen - first_seen DESC LIMIT 1"))
    with pytest.raises(sa.exc.DBAPIError, match=r"step is .*: (it should be|that is too short)"):
        connection.execute(
            sa.text("SELECT * FROM news.report_event_curve(:event, CAST(:step AS interval))"),
            {"event": longest, "step": step},
        )


@pytest.mark.parametrize("step", ["7 hours", "30 seconds", "2 days"])
def test_a_step_that_does_not_divide_a_day_has_no_usual_volume(connection, step):
    with pytest.raises(sa.exc.DBAPIError, match="step is .*: it should divide a day"):
        connection.execute(sa.text("SELECT * FROM news.report_volume('en', CAST(:step AS interval))"), {"step": step})


def test_the_volume_of_a_stream_that_has_stopped_is_zero(connection):
    rows = connection.execute(sa.text("SELECT * FROM news.report_volume(NULL, '1 hour', '2014-03-25 12:00Z')")).all()
    last = {edition: max(row.at for row in rows if row.edition == edition) for edition in {row.edition for row in rows}}
    assert len(last) == 4
    assert len(set(last.values())) == 1, "all editions are shown up to the same time"
    assert any(row.stories == 0 for row in rows)
    counted = connection.scalar(
        sa.text("SELECT count(*) FROM news.stories WHERE crawled_at >= '2014-03-25 12:00Z' AND NOT retracted")
    )
    assert sum(row.stories for row in rows) == counted


def test_words_that_are_left_out_are_left_out_in_every_language(connection):
    rows = connection.execute(sa.text("SELECT * FROM news.report_search('samsung -galaxy', \"limit\" => 50)")).all()
    stories = [row.headline.lower() for row in rows if row.kind == "story"]
    assert stories
    assert not any("galaxy" in headline for headline in stories)


def test_what_has_come_since_the_latest_update_is_the_rest_of_the_cluster(connection):
    rows = connection.execute(
        sa.text(
            "SELECT e.stories_total + (SELECT count(*) FROM news.report_event_newest(e.id)), c.stories FROM news.events e "
            "JOIN news.clusters c ON c.id = e.cluster_id WHERE e.state <> 'ended' AND e.first_seen <= c.first_seen"
        )
    ).all()
    assert len(rows) > 3
    assert all(both == in_cluster for both, in_cluster in rows)


def test_everything_is_described_down_to_the_columns(database):
    migrate(database)
    engine = create_engine(database)
    with engine.connect() as connection:
        undescribed = connection.execute(
            sa.text(
                "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
                "WHERE c.relnamespace = 'news'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND a.attnum > 0 "
                "AND NOT a.attisdropped AND c.relname <> 'alembic_version' AND col_description(c.oid, a.attnum) IS NULL"
            )
        ).all()
        schema = connection.scalar(sa.text("SELECT obj_description('news'::regnamespace, 'pg_namespace')"))
    engine.dispose()
    assert undescribed == []
    assert "report_" in schema


def test_examples_in_the_page_are_what_a_shell_gives(examples):
    """Rows of the command in JSON have the columns of the report."""
    reader = Reader(examples)
    for report in REPORTS.values():
        if report.argument is None:
            rows = reader.report(report.name)
            assert all(set(report.columns) <= row.keys() for row in rows)
            assert json.dumps(rows, default=str)
    reader.close()


def test_the_page_has_at_least_twenty_questions():
    assert len(re.findall(r"^### .*\?$", reports.PAGE.read_text(encoding="utf-8"), re.MULTILINE)) >= 20
