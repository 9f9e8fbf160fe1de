"""An older copy of Postgres is restored, and workers run on: it is noticed, and mended."""

import sqlalchemy as sa

from pipeline.storage.engine import create_engine
from tests import sample
from tests.cli.run import run
from tests.integration.helpers import prepare, send, wait_until_settled, worker
from tests.reliability.promise import judge, other_database

COMPLETE = "ok   Postgres has all that the store has read from the topics."
LACKS = "FAIL Postgres lacks what the store has read of"


def copied(settings, name):
    """Settings of a database of this name, which is a copy."""
    engine = create_engine(settings.postgres).execution_options(isolation_level="AUTOCOMMIT")
    url = sa.make_url(settings.postgres)
    other = url.set(database="postgres").render_as_string(hide_password=False)
    engine.dispose()
    engine = create_engine(other).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name} TEMPLATE {url.database}"))
    engine.dispose()
    return settings.model_copy(update={"postgres": url.set(database=name).render_as_string(hide_password=False)})


def work(settings, lines, log):
    send(settings, "stories", [(None, line) for line in lines])
    with worker(settings, log) as process:
        wait_until_settled(settings, process)


def test_an_older_copy_is_noticed_and_what_it_lacks_is_written_again(settings, tmp_path):
    lines, log = sample.lines(600), tmp_path / "worker.log"
    prepare(settings)
    work(settings, lines[:200], log)
    name = f"{sa.make_url(settings.postgres).database}_copy"
    old = copied(settings, name)
    assert COMPLETE in run("doctor", settings=old).output
    work(settings, lines[200:400], log)
    assert COMPLETE in run("doctor", settings=settings).output

    for ran_on in (False, True):
        if ran_on:
            work(old, lines[400:], log)
        said = run("doctor", settings=old)
        assert said.exit_code == 1
        assert LACKS in said.output
    assert "reads" in run("restore", settings=old).output
    with worker(old, log) as process:
        wait_until_settled(old, process)
    assert COMPLETE in run("doctor", settings=old).output
    assert "has all" in run("restore", settings=old).output
    verdict = judge(old, other_database(old))
    assert (verdict.kept, verdict.stories) == (True, 600), verdict
    engine = create_engine(settings.postgres).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


def test_a_database_that_was_lost_is_missed(settings, new_database, tmp_path):
    prepare(settings)
    work(settings, sample.lines(100), tmp_path / "worker.log")
    empty = settings.model_copy(update={"postgres": new_database()})
    assert run("migrate", settings=empty).exit_code == 0
    assert LACKS in run("doctor", settings=empty).output
    said = run("restore", settings=empty)
    assert said.exit_code == 0
    assert "again from 0" in said.output
    assert COMPLETE in run("doctor", settings=empty).output
