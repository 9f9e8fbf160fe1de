"""The rights in docs/security.md are enough, and no more than enough: on a broker with access lists, on Postgres with roles."""

import asyncio
import re
import shutil
import subprocess
import sys

import pytest
import sqlalchemy as sa
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError
from click.testing import CliRunner

from pipeline.cli import main
from pipeline.config import Settings
from pipeline.kafka.connection import connection
from pipeline.kafka.producer import StoryProducer
from pipeline.storage.engine import create_engine
from tests import sample
from tests.integration.helpers import wait_until_settled, worker
from tests.reliability.secure import DOCS, SecureKafka

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
USERS = ["admin", "worker", "crawler", "desk"]
STORIES = 600


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with SecureKafka(tmp_path_factory.mktemp("secure"), USERS) as broker:
        broker.allow("news")
        yield broker


@pytest.fixture
def roles(database):
    """URIs of the database for the three roles."""
    engine = create_engine(database).execution_options(isolation_level="AUTOCOMMIT")
    names = ["owner", "writer", "reader"]
    with engine.connect() as connection:
        for role in names:
            connection.execute(sa.text(f"DROP ROLE IF EXISTS newsburst_{role}"))
        (script,) = re.findall(r"```sql\n(CREATE ROLE.*?)```", DOCS.read_text(), re.DOTALL)
        connection.execute(sa.text(script))
        for role in names:  # how they log in is not what is tried here
            connection.execute(sa.text(f"ALTER ROLE newsburst_{role} PASSWORD '{sa.make_url(database).password}'"))
    yield {
        role: sa.make_url(database).set(username=f"newsburst_{role}").render_as_string(hide_password=False)
        for role in names
    }
    with engine.connect() as connection:
        for role in names:
            connection.execute(sa.text(f"DROP OWNED BY newsburst_{role} CASCADE"))
            connection.execute(sa.text(f"DROP ROLE newsburst_{role}"))
    engine.dispose()


def settings_of(broker, user, postgres, tmp_path, password=None):
    secret = tmp_path / f"{user}.password"
    secret.write_text(f"{password or user[::-1]}\n")
    return Settings(
        kafka=broker.bootstrap,
        kafka_security="SASL_SSL",
        kafka_user=user,
        kafka_password_file=secret,
        kafka_ca=broker.ca,
        postgres=postgres,
        topic_prefix="news",
        partitions=2,
        data=tmp_path / "data",
    )


def run(settings, *arguments):
    return CliRunner().invoke(main, list(arguments), env=settings.environment())


async def produce(settings, stories):
    await write(settings, "stories")  # no story: a dead letter
    async with StoryProducer(settings) as producer:
        for story in stories:
            await producer.send(story)
        await producer.flush()


async def first(settings, topic):
    consumer = AIOKafkaConsumer(
        f"news.{topic}",
        **connection(settings),
        group_id="desk-one",
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    try:
        await consumer.start()
        return (await asyncio.wait_for(consumer.getone(), 30)).value
    finally:
        await consumer.stop()


async def write(settings, topic):
    producer = AIOKafkaProducer(**connection(settings))
    try:
        await producer.start()
        await producer.send_and_wait(f"news.{topic}", b"{}")
    finally:
        await producer.stop()


def test_the_documented_rights_are_enough_and_no_more(broker, roles, tmp_path):
    users = {
        user: settings_of(broker, user, roles[role], tmp_path)
        for user, role in zip(USERS, ["owner", "writer", "reader", "reader"], strict=True)
    }
    for command in (["migrate"], ["topics", "create"], ["topics", "check"], ["doctor"]):
        assert run(users["admin"], *command).exit_code == 0, run(users["admin"], *command).output
    stories = sample.stories()[:STORIES]
    with worker(users["worker"], tmp_path / "worker.log") as process:
        asyncio.run(produce(users["crawler"], stories))
        wait_until_settled(users["admin"], process)
    assert asyncio.run(first(users["desk"], "clusters"))
    users["more"] = users["admin"].model_copy(update={"partitions": 3})
    for user, command, said in (
        ("desk", "report breaking --json", "["),
        ("desk", "events", ""),
        ("admin", "dlq list", "1 dead letters"),
        ("worker", "dlq requeue --all", "1 messages sent again"),
        ("more", "topics grow", "news.stories"),
        ("admin", "retain --days 30", "deleted"),
    ):
        done = run(users[user], *command.split())
        assert (done.exit_code, said in done.output) == (0, True), (user, command, done.output)

    for user, topic in (("desk", "stories"), ("desk", "events"), ("crawler", "events"), ("crawler", "normalised")):
        with pytest.raises(TopicAuthorizationFailedError):
            asyncio.run(write(users[user], topic))
    with pytest.raises(TopicAuthorizationFailedError):
        asyncio.run(first(users["desk"], "stories"))
    for user, command in (
        ("desk", ["dlq", "list"]),
        ("desk", ["topics", "create"]),
        ("admin", ["dlq", "requeue", "--all"]),
    ):
        done = run(users[user], *command)
        assert done.exit_code == 1, (user, command)
        assert "Authorization" in done.output or "docs/security.md" in done.output
    for role, statement in (
        ("reader", "UPDATE news.stories SET title = 'x'"),
        ("writer", "DELETE FROM news.stories"),
        ("writer", "DROP TABLE news.stories"),
    ):
        engine = create_engine(roles[role])
        with pytest.raises(sa.exc.ProgrammingError), engine.begin() as connected:
            connected.execute(sa.text(statement))
        engine.dispose()
    log = (tmp_path / "worker.log").read_text()
    assert "rekrow" not in log


def test_a_wrong_password_is_an_error_that_does_not_show_it(broker, tmp_path):
    settings = settings_of(broker, "worker", "postgresql://me:hidden@127.0.0.1:1/news", tmp_path, password="not-it")
    done = subprocess.run(
        [sys.executable, "-c", "from pipeline.cli import main; main()", "doctor"],
        env={**settings.environment(), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "FAIL No Kafka answers" in said
    assert "FAIL No Postgres answers" in said
    assert "not-it" not in said
    assert "hidden" not in said


def test_who_does_not_log_in_is_let_in_nowhere(broker, tmp_path):
    settings = Settings(kafka=broker.bootstrap, kafka_security="SSL", kafka_ca=broker.ca, data=tmp_path)

    async def start():
        producer = AIOKafkaProducer(**connection(settings), request_timeout_ms=5_000)
        try:
            await producer.start()
        finally:
            await producer.stop()

    with pytest.raises(KafkaError):
        asyncio.run(start())
