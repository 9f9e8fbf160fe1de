"""A web server on real Kafka and Postgres, with the stories of the reports' examples, and a browser."""

import os
import re
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest
import sqlalchemy as sa
from pydantic import SecretStr

from pipeline.config import Settings
from pipeline.storage.engine import create_engine
from pipeline.web import SAYS_READY
from tests import reports
from tests.integration.helpers import make_topics

CHROMIUM = "/usr/bin/chromium"


@contextmanager
def serving(settings, log, *options):
    """A server process that runs while the context lasts; its address."""
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline.command", "web", "--port", "0", *options],
            env={**_clean_environment(), **settings.environment()},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + 60
        while not (found := re.search(f"{SAYS_READY}(\\S+)/", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield found[1]
        process.terminate()
        assert process.wait(20) == 0, log.read_text()
        assert "Traceback" not in log.read_text(), log.read_text()
    finally:
        process.kill()
        process.wait()


def _clean_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("NEWSBURST_")}


@pytest.fixture(scope="session")
def archive_settings(kafka, postgres_server, tmp_path_factory):
    """Settings with topics that are empty, and a role that may only read a database with the example's stories."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    server = sa.make_url(postgres_server)
    owner = server.set(database=name)
    engine = create_engine(postgres_server).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
        connection.execute(sa.text(f"CREATE ROLE {name} LOGIN PASSWORD '{server.password}'"))
    reports.prepare(owner.render_as_string(hide_password=False))
    owned = create_engine(owner.render_as_string(hide_password=False))
    with owned.begin() as connection:
        connection.execute(sa.text(f"GRANT USAGE ON SCHEMA news TO {name}"))
        connection.execute(sa.text(f"GRANT SELECT ON ALL TABLES IN SCHEMA news TO {name}"))
    owned.dispose()
    reader = owner.set(username=name).render_as_string(hide_password=False)
    settings = Settings(
        kafka=kafka, topic_prefix=name, partitions=2, data=tmp_path_factory.mktemp("data"), postgres=reader
    )
    elsewhere(make_topics, settings)
    yield settings
    with engine.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
        connection.execute(sa.text(f"DROP ROLE {name}"))
    engine.dispose()


@pytest.fixture(scope="session")
def archive(archive_settings, tmp_path_factory):
    """The address of a server of these, on which editors correct."""
    served = archive_settings.model_copy(update={"web_editor_token": SecretStr("quill")})
    with serving(served, tmp_path_factory.mktemp("web") / "web.log") as address:
        yield address


@pytest.fixture
def client(archive):
    """Asks that server."""
    with httpx.Client(base_url=archive, timeout=30) as client:
        yield client


@pytest.fixture(scope="session")
def an_event(archive):
    """An event of the archive with many stories."""
    events = httpx.get(f"{archive}/api/events", params={"words": "paltrow", "limit": 100}).json()["items"]
    return max(events, key=lambda event: event["stories"])


def elsewhere(function, *arguments):
    """What a function returns, run in another thread: Playwright has the event loop of this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(function, *arguments).result()


@contextmanager
def chromium():
    """Debian's Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
        )
        yield started
        started.close()


@pytest.fixture
def browser():
    """A browser."""
    with chromium() as started:
        yield started
