"""Real Kafka and real Postgres for the tests that need them: given by the environment, else from Docker, else embedded."""

import os
import subprocess
import uuid
from contextlib import ExitStack, closing, contextmanager

import hypothesis
import pytest
import sqlalchemy as sa

from pipeline.config import Settings
from pipeline.embedded.kafka import COORDINATES, EmbeddedKafka
from pipeline.embedded.ports import free_ports
from pipeline.embedded.postgres import EmbeddedPostgres
from pipeline.storage.engine import create_engine
from pipeline.storage.read import Reader

hypothesis.settings.register_profile("newsburst", deadline=None)  # kernels are compiled when first called
hypothesis.settings.load_profile("newsburst")


def docker_answers():
    try:
        return subprocess.run(["docker", "info"], capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@contextmanager
def kafka_container():
    """A broker in a container, of the version that the embedded one has; its address."""
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy

    (port,) = free_ports(1)
    node = (
        DockerContainer(f"apache/kafka:{COORDINATES.rpartition(':')[2]}")
        .with_bind_ports(9092, port)
        .with_envs(
            KAFKA_NODE_ID="1",
            KAFKA_PROCESS_ROLES="broker,controller",
            KAFKA_CONTROLLER_QUORUM_VOTERS="1@localhost:9093",
            KAFKA_CONTROLLER_LISTENER_NAMES="CONTROLLER",
            KAFKA_LISTENERS="OUTSIDE://:9092,INSIDE://:29092,CONTROLLER://:9093",
            KAFKA_ADVERTISED_LISTENERS=f"OUTSIDE://127.0.0.1:{port},INSIDE://localhost:29092",
            KAFKA_LISTENER_SECURITY_PROTOCOL_MAP="OUTSIDE:PLAINTEXT,INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
            KAFKA_INTER_BROKER_LISTENER_NAME="INSIDE",
            KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR="1",
            KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR="1",
            KAFKA_TRANSACTION_STATE_LOG_MIN_ISR="1",
            KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS="0",
            KAFKA_AUTO_CREATE_TOPICS_ENABLE="false",
        )
    )
    with node.waiting_for(LogMessageWaitStrategy("Kafka Server started")):
        yield f"127.0.0.1:{port}"


@pytest.fixture(scope="session")
def kafka(tmp_path_factory):
    """Bootstrap servers of a Kafka."""
    if given := os.environ.get("NEWSBURST_TEST_KAFKA"):
        yield given
        return
    with ExitStack() as stack:
        if docker_answers():
            yield stack.enter_context(kafka_container())
        else:
            server = EmbeddedKafka(tmp_path_factory.mktemp("kafka"))
            stack.callback(server.stop)
            server.start()
            yield server.bootstrap


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory):
    """URI of a Postgres on which databases can be made."""
    if given := os.environ.get("NEWSBURST_TEST_POSTGRES"):
        yield given
        return
    with ExitStack() as stack:
        if docker_answers():
            from testcontainers.community.postgres import PostgresContainer

            yield stack.enter_context(PostgresContainer("postgres:17", driver=None)).get_connection_url()
        else:
            server = EmbeddedPostgres(tmp_path_factory.mktemp("postgres"))
            stack.callback(server.stop)
            server.start()
            yield server.uri


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
