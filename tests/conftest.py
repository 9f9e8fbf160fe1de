"""Real Kafka and real Postgres for the tests that need them: given by the environment, else from Docker, else embedded."""

import os
import uuid
from contextlib import ExitStack, closing

import hypothesis
import pytest
import sqlalchemy as sa

from pipeline.config import Settings
from pipeline.embedded.kafka import EmbeddedKafka
from pipeline.embedded.postgres import EmbeddedPostgres
from pipeline.storage.engine import create_engine
from pipeline.storage.read import Reader
from tests import containers

hypothesis.settings.register_profile("newsburst", deadline=None)  # kernels are compiled when first called
hypothesis.settings.load_profile("newsburst")


@pytest.fixture(scope="session")
def kafka(tmp_path_factory):
    """Bootstrap servers of a Kafka."""
    if given := os.environ.get("NEWSBURST_TEST_KAFKA"):
        yield given
        return
    with ExitStack() as stack:
        address = containers.enter(stack, containers.kafka)
        if address is None:
            server = EmbeddedKafka(tmp_path_factory.mktemp("kafka"))
            stack.callback(server.stop)
            server.start()
            address = server.bootstrap
        yield address


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory):
    """URI of a Postgres on which databases can be made."""
    if given := os.environ.get("NEWSBURST_TEST_POSTGRES"):
        yield given
        return
    with ExitStack() as stack:
        uri = containers.enter(stack, containers.postgres)
        if uri is None:
            server = EmbeddedPostgres(tmp_path_factory.mktemp("postgres"))
            stack.callback(server.stop)
            server.start()
            uri = server.uri
        yield uri


@pytest.fixture
def new_database(postgres_server):
    """Makes empty databases, and drops them after the test."""
    made = []
    engine = create_engine(postgres_server).execution_options(isolation_level="AUTOCOMMIT")

    def make():
        name = f"test_{uuid.uuid4().hex[:12]}"
        with engine.connect() as connection:
            connection.execute(sa.text(f"CREATE DATABASE {name}"))
        made.append(name)
        return sa.make_url(postgres_server).set(database=name).render_as_string(hide_password=False)

    yield make
    with engine.connect() as connection:
        for name in made:
            connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


@pytest.fixture
def database(new_database):
    """URI of an empty database."""
    return new_database()


@pytest.fixture
def reader(database):
    """Reads the reports of that database."""
    with closing(Reader(database)) as reader:
        yield reader


@pytest.fixture
def kafka_settings(kafka, tmp_path):
    """Settings with topics of their own on the tests' Kafka, and no database."""
    return Settings(kafka=kafka, topic_prefix=f"t{uuid.uuid4().hex[:8]}", partitions=2, data=tmp_path / "data")


@pytest.fixture
def settings(kafka_settings, database):
    """The same with a database of their own."""
    return kafka_settings.model_copy(update={"postgres": database})
