"""Subscribers get each state of an event once, signed, through outages of all parts."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import msgspec
import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from pipeline.cli import main
from pipeline.storage.engine import create_engine
from pipeline.storage.subscriptions import Read, Subscriptions
from tests.integration.helpers import prepare, send, wait_for
from tests.web.test_live import SUBJECTS, happen


class Receiver:
    """A server that gets webhooks, and answers as it is told to."""

    def __init__(self):
        self.got, self.status = [], 204
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((receiver.status, json.loads(body)))
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def states(self, status=204):
        """What arrived: (event, state)."""
        return [(body["data"]["event_id"], body["data"]["state"]) for given, body in self.got if given == status]


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


@contextmanager
def pushing(settings, log):
    with log.open("a") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline.command", "push"],
            env={**os.environ, **settings.environment()},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
        process.terminate()
        assert process.wait(20) in {0, -signal.SIGKILL}, log.read_text()
        assert "Traceback" not in log.read_text(), log.read_text()
    finally:
        process.kill()
        process.wait()


def newsburst(settings, *arguments):
    result = CliRunner().invoke(main, arguments, env=settings.environment(), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def publish(settings, *updates):
    send(settings, "events", [(update.event_id.encode(), msgspec.json.encode(update)) for update in updates])


def of_states(update, *states):
    """Updates of this event with these states, one after the other."""
    return [msgspec.structs.replace(update, sequence=n + 1, state=state) for n, state in enumerate(states)]


def test_a_subscriber_is_told_each_state_once_through_kills(settings, receiver, tmp_path):
    prepare(settings)
    newsburst(settings, "subscribe", "add", "webhook", receiver.url)
    (update, *_) = happen(settings, SUBJECTS[0])
    with pushing(settings, tmp_path / "push.log") as process:
        wait_for(lambda: json.loads(newsburst(settings, "subscribe", "list", "--json"))[0]["delivered"])
        process.kill()
    publish(settings, *of_states(update, "started", "updated", "updated", "ended")[1:])
    with pushing(settings, tmp_path / "push.log"), pushing(settings, tmp_path / "second.log"):
        wait_for(lambda: len(receiver.states()) >= 2)
        time.sleep(1.5)
    assert receiver.states() == [(update.event_id, "started"), (update.event_id, "ended")]
    shown = json.loads(newsburst(settings, "subscribe", "list", "--json"))[0]
    assert (shown["delivered"], shown["waiting"]) == (2, 0)


def test_only_what_a_filter_chooses_is_sent_and_nothing_from_before(settings, receiver, tmp_path):
    prepare(settings)
    happen(settings, SUBJECTS[2])
    time.sleep(0.1)
    newsburst(settings, "subscribe", "add", "mattermost", receiver.url, "--words", "Earthquake", "--state", "started")
    updates = happen(settings, SUBJECTS[0], SUBJECTS[1])
    with pushing(settings, tmp_path / "push.log"):
        wait_for(lambda: len(receiver.got))
        time.sleep(1)
    assert len({update.event_id for update in updates}) == 2
    ((_, body),) = receiver.got
    assert "Earthquake strike nepal capital" in body["text"]


@pytest.fixture
def told(settings, receiver):
    """Subscriptions of a database with one subscription, and what makes deliveries of states."""
    prepare(settings)
    given = json.loads(newsburst(settings, "subscribe", "add", "webhook", receiver.url, "--json"))
    (update, *_) = happen(settings, SUBJECTS[0])
    store = Subscriptions(settings.postgres)
    begin = datetime.now(UTC) + timedelta(seconds=1)

    offsets = count(1)

    def tell(*states, first=1, of=update):
        updates = of_states(of, *states)
        for sequence, one in enumerate(updates, first):
            offset = next(offsets)
            store.take_in([Read(msgspec.structs.replace(one, sequence=sequence), 0, offset, begin)], {0: offset}, begin)

    yield store, tell, begin, given["id"]
    store.close()


@pytest.fixture
def other_event(settings, told):
    (update, *_) = happen(settings, SUBJECTS[1])
    return update


def sent(store, at):
    """The states that are due."""
    return [one.record["state"] for one in store.due(at, 10)]


def test_a_subscriber_that_was_away_gets_what_is_still_true(told):
    store, tell, begin, _ = told
    tell("started")
    (first,) = store.due(begin, 10)
    store.failed(first, "refused", begin, begin + timedelta(hours=1))
    tell("ended", first=2)
    assert sent(store, begin + timedelta(minutes=30)) == []
    assert sent(store, begin + timedelta(hours=2)) == ["ended"]


def test_a_delivery_is_sent_by_one_at_a_time_and_again_when_its_sender_dies(told):
    store, tell, begin, _ = told
    tell("started")
    assert sent(store, begin) == ["started"]
    assert sent(store, begin + timedelta(seconds=30)) == []
    assert sent(store, begin + timedelta(minutes=5)) == ["started"]


def test_to_a_subscription_one_delivery_is_under_way_and_the_others_wait_as_long(told, other_event):
    store, tell, begin, _ = told
    tell("started")
    tell("started", of=other_event)
    (one,) = store.due(begin, 10)
    assert store.due(begin, 10) == []
    store.failed(one, "429", begin, begin + timedelta(minutes=5))
    assert store.due(begin + timedelta(minutes=4), 10) == []
    (again,) = store.due(begin + timedelta(minutes=6), 10)
    assert (again.event_id, again.attempts) == (one.event_id, 2)
    store.delivered(again, "204", begin + timedelta(minutes=6))
    (other,) = store.due(begin + timedelta(minutes=6), 10)
    assert other.event_id != one.event_id


def test_processes_that_read_the_same_updates_make_one_delivery(told, settings, other_event):
    store, _, begin, _ = told
    reads = [
        Read(msgspec.structs.replace(other_event, event_id=f"e{number}", sequence=1), 0, number + 1, begin)
        for number in range(40)
    ]
    stores = [store, Subscriptions(settings.postgres), Subscriptions(settings.postgres)]
    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda one: one.take_in(reads, {0: 41}, begin), stores))
    assert sorted(made) == [0, 0, 40]
    for one in stores[1:]:
        one.close()


def test_a_cancelled_subscription_gets_nothing_that_waited(told, other_event):
    store, tell, begin, name = told
    tell("started")
    tell("started", of=other_event)
    (one,) = store.due(begin, 10)
    store.cancel(name, begin)
    store.delivered(one, "204", begin)
    assert store.due(begin + timedelta(hours=1), 10, only=name) == []


def test_mail_waits_for_a_process_that_can_send_it(told, settings):
    store, tell, begin, name = told
    newsburst(settings, "subscribe", "cancel", name)
    newsburst(settings, "subscribe", "add", "email", "desk@example.com")
    tell("started")
    assert store.due(begin, 10, mail=False) == []
    assert len(store.due(begin, 10)) == 1


def test_what_was_told_is_not_told_again(told):
    store, tell, begin, _ = told
    tell("started")
    tell("started")
    (one,) = store.due(begin, 10)
    store.delivered(one, "204", begin)
    tell("started")
    assert sent(store, begin + timedelta(hours=9)) == []


def test_a_dead_subscription_is_given_up_shown_and_resumed(told, settings):
    store, tell, begin, name = told
    tell("started")
    (one,) = store.due(begin, 10)
    store.failed(one, "410 Gone", begin, None)
    shown = json.loads(newsburst(settings, "subscribe", "list", "--json"))[0]
    assert (shown["parked_because"], shown["waiting"]) == ("410 Gone", 1)
    assert sent(store, begin + timedelta(days=2)) == []
    assert "410 Gone" in newsburst(settings, "subscribe", "show", name)
    newsburst(settings, "subscribe", "resume", name)
    assert sent(store, begin + timedelta(days=2)) == ["started"]
    newsburst(settings, "subscribe", "cancel", name)
    assert "No one is told" in newsburst(settings, "subscribe", "list")
    assert sent(store, begin + timedelta(days=9)) == []


def test_readers_do_not_see_the_addresses(told, settings):
    engine = create_engine(settings.postgres)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE ROLE sees_nothing"))
        try:
            connection.execute(sa.text("GRANT USAGE ON SCHEMA news TO sees_nothing"))
            connection.execute(sa.text("GRANT SELECT ON ALL TABLES IN SCHEMA news TO sees_nothing"))
            assert connection.scalar(sa.text("SELECT count(*) FROM news.subscriptions")) == 1
            connection.execute(sa.text("SET ROLE sees_nothing"))
            assert connection.scalar(sa.text("SELECT count(*) FROM news.subscriptions")) == 0
            assert connection.scalar(sa.text("SELECT count(*) FROM news.deliveries")) == 0
            connection.execute(sa.text("RESET ROLE"))
        finally:
            connection.rollback()
    engine.dispose()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["webhook", "javascript:alert(1)"], "is no URL"),
        (["slack", "http://"], "is no URL"),
        (["slack", "http://a.example:0/"], "is no URL"),
        (["telegram", "https://api.example/bot1/sendMessage"], "has no chat"),
        (["email", "desk"], "is no address of mail"),
        (["slack", "https://a.example", "--secret", "x"], "has no signature"),
        (["webhook", "https://a.example", "--secret", "short"], "at least 16 bytes"),
        (["pigeon", "https://a.example"], "pigeon"),
    ],
)
def test_a_subscription_that_cannot_be_is_refused(arguments, word):
    result = CliRunner().invoke(main, ["subscribe", "add", *arguments])
    assert result.exit_code == 2
    assert word in result.output
