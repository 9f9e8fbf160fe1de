"""Reports on ten million stories: copies of the sample that ships, spread over a year up to now, in an embedded Postgres."""

import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bench.figures import Figure, absolute
from bench.news import RECEIVED, week
from pipeline.embedded.postgres import EmbeddedPostgres
from pipeline.replay import fingerprints, replay
from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import migrate
from pipeline.storage.write import Writer

STORIES, QUICK_STORIES = 10_000_000, 500_000
BATCH = 1_000
MONTHS = 12
ASKED = 40
"""Times that each report is asked, each time about something else."""
ACTIVE = 50
"""Events that have not ended."""
WORDS = (
    *("apple iphone", "google", "game of thrones", "ukraine", "kanye west", "fed rates", "x-men", "ebola", "tesla"),
    *(
        "samsung galaxy",
        "climate change",
        "paltrow",
        "captain america",
        "walmart",
        "nasa",
        "netflix",
        "stocks",
        "obama",
    ),
)
TABLES = ("clusters", "stories", "events", "event_stories", "event_updates")
LOAD = """
INSERT INTO news.clusters
SELECT id || :k, edition, position, stories, publishers, headline, first_seen + :shift, last_seen + :shift, merged_into || :k
FROM base.clusters;
INSERT INTO news.stories
SELECT edition, position + :first, crawled_at + :shift, id || :k, url || :k,
    regexp_replace(title, '(\\m[[:alpha:]]{6,})', '\\1' || :word, 'g'), publisher, family, language, received_at + :shift,
    published_at, simhash # :mask, late, retracted, revision + :first, cluster_id || :k, duplicate_of || :k,
    (SELECT array_agg(other || :k) FROM unnest(similar_ids) AS other), similar_scores, extra
FROM base.stories;
INSERT INTO news.events (
    id, cluster_id, edition, sequence, state, headline, started_at, ended_at, updated_at, first_seen, last_seen,
    stories_in_window, publishers_in_window, copies_in_window, stories_total, publishers_total, burst_score, reopened,
    merged_into)
SELECT id || :k, cluster_id || :k, edition, sequence, 'ended', headline, started_at + :shift, updated_at + :shift,
    updated_at + :shift, first_seen + :shift, last_seen + :shift, stories_in_window, publishers_in_window, copies_in_window,
    stories_total, publishers_total, burst_score, reopened, merged_into || :k
FROM base.events;
INSERT INTO news.event_stories
SELECT event_id || :k, edition, position + :first, crawled_at + :shift, sequence, score, is_stray FROM base.event_stories;
INSERT INTO news.event_updates
SELECT event_id || :k, sequence, state, at + :shift, position + :first, stories_in_window, stories_total, record
FROM base.event_updates
"""
"""One copy of the sample. Words of six letters and more get an ending and SimHashes are mixed: copies are not near-duplicates."""


def figures(*, quick: bool) -> Iterable[Figure]:
    """The median time of each report that has a limit, with one connection, after all was read once."""
    with tempfile.TemporaryDirectory(prefix="newsburst-bench-") as folder:
        server = EmbeddedPostgres(Path(folder))
        server.start()
        try:
            migrate(server.uri)
            _write_sample(server.uri)
            engine = create_engine(server.uri).execution_options(isolation_level="AUTOCOMMIT")
            with engine.connect() as connection:
                stories = _multiply(connection, QUICK_STORIES if quick else STORIES)
                for work, limit, costs in _measured(connection):
                    yield absolute(f"{work}, {stories:,} stories", f"{limit:g} ms", costs, limit, "ms")
            engine.dispose()
        finally:
            server.stop()


def _write_sample(uri: str) -> None:
    writer = Writer(uri)
    made = [
        record
        for step in replay(fingerprints(week(), RECEIVED))
        for record in (step.assignment, *step.clusters, *step.updates)
    ]
    for start in range(0, len(made), BATCH):
        writer.write(made[start : start + BATCH])
    writer.close()


def _multiply(connection: sa.Connection, wanted: int) -> int:
    """Replace the sample by as many copies as give this many stories; returns how many there are."""

    def run(statement: str, **given: Any) -> Any:
        return connection.execute(sa.text(statement), given)

    run("CREATE SCHEMA base")
    for table in TABLES:
        run(f"CREATE TABLE base.{table} AS SELECT * FROM news.{table}")
    run(
        "DELETE FROM base.event_updates u USING base.events e WHERE u.event_id = e.id AND u.sequence NOT IN (1, e.sequence)"
    )
    sample, latest, positions = run("SELECT count(*), max(crawled_at), max(position) + 1 FROM base.stories").one()
    run("TRUNCATE news.stories, news.clusters, news.events, news.publishers CASCADE")
    indexes = run(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'news' AND tablename = 'stories'"
    ).all()
    indexes = [(name, made) for name, made in indexes if name != "stories_pkey"]
    for name, _ in indexes:
        run(f"DROP INDEX news.{name}")
    run("SET session_replication_role = replica")  # no foreign keys while it loads
    copies = -(-wanted // sample)
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    for number in range(copies):
        shift = now - latest - timedelta(days=30 * (number % MONTHS), minutes=97 * (number // MONTHS))
        for month in range(-1, 2):
            run("SELECT news.make_partition(:at)", at=latest + shift + timedelta(days=28 * month))
        mask = run("SELECT hashtextextended(:k, 7)", k=str(number)).scalar()
        letters = "".join(chr(97 + int(digit)) for digit in str(number % 40))
        given = {"k": f"-{number}", "shift": shift, "first": number * positions, "mask": mask, "word": letters}
        for statement in LOAD.split(";"):
            run(statement, **{name: value for name, value in given.items() if f":{name}" in statement})
        if number % 50 == 0:
            print(f"copy {number} of {copies}", file=sys.stderr, flush=True)
    run(
        "INSERT INTO news.publishers SELECT edition, family, min(crawled_at), max(crawled_at) FROM news.stories GROUP BY 1, 2"
    )
    for _, made in indexes:
        run(made.replace(" ON ONLY ", " ON "))
    run("SET session_replication_role = origin")
    run(
        "UPDATE news.events SET state = 'updated', ended_at = NULL WHERE id IN "
        "(SELECT id FROM news.events ORDER BY last_seen DESC LIMIT :active)",
        active=ACTIVE,
    )
    run("VACUUM ANALYZE")
    return int(run("SELECT count(*) FROM news.stories").scalar())


def _measured(connection: sa.Connection) -> Iterable[tuple[str, float, Sequence[float]]]:
    events = connection.scalars(sa.text("SELECT id FROM news.events ORDER BY md5(id) LIMIT :n"), {"n": ASKED}).all()
    some = connection.scalars(
        sa.text("SELECT id FROM news.stories TABLESAMPLE SYSTEM (0.01) LIMIT :n"), {"n": ASKED}
    ).all()
    asked: list[tuple[str, float, str, Sequence[str]]] = [
        ("report_breaking_now", 50, "SELECT * FROM news.report_breaking_now", [""] * ASKED),
        ("report_event", 100, "SELECT * FROM news.report_event(:about)", events),
        ("similar_stories", 50, "SELECT * FROM news.similar_stories(:about)", some),
        ("report_search", 50, "SELECT * FROM news.report_search(:about)", [*WORDS, *WORDS]),
    ]
    for work, limit, statement, about in asked:
        rounds = [[_milliseconds(connection, statement, value) for value in about] for _ in range(2)]
        yield work, limit, [statistics.median(rounds[1])]


def _milliseconds(connection: sa.Connection, statement: str, about: str) -> float:
    start = time.perf_counter()
    connection.execute(sa.text(statement), {"about": about} if ":about" in statement else {}).all()
    return 1e3 * (time.perf_counter() - start)
