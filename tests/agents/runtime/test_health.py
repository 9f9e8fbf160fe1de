"""Health: live while the loop turns, ready when nothing is missing."""

import asyncio
import json
import socket
import threading
import time
import urllib.error
import urllib.request

import pytest
from aiohttp.test_utils import TestClient, TestServer

from agents.runtime import health as health_module
from agents.runtime.health import MAX_CONNECTIONS, STUCK_AFTER_S, Health, answers, serve
from pipeline.embedded.ports import free_ports
from pipeline.storage.engine import check


def ask(health, path):
    async def get():
        async with TestClient(TestServer(answers(health))) as client, client.get(path) as response:
            return str(response.status), await response.read()

    return asyncio.run(get())


def healthy(**changes):
    return Health(**{"database": lambda: "", "broker": says(""), "generation": 3} | changes)


def says(wrong):
    async def broker():
        return wrong

    return broker


def test_a_worker_with_all_it_needs_is_live_and_ready():
    assert ask(healthy(), "/live") == ("200", b'{"live": true}')
    status, body = ask(healthy(partitions=4, lag=7), "/ready")
    assert status == "200"
    assert json.loads(body) == {"ready": True, "missing": [], "generation": 3, "partitions": 4, "lag": 7}


def test_what_is_missing_is_said():
    for changes, reason in (
        ({"database": lambda: "No Postgres answers"}, "No Postgres answers"),
        ({"broker": says("No Kafka answers")}, "No Kafka answers"),
        ({"generation": 0}, "it has not joined its consumer group"),
        ({"loading": 2}, "it loads the state of 2 partitions"),
    ):
        status, body = ask(healthy(**changes), "/ready")
        assert (status, json.loads(body)["missing"]) == ("503", [reason])
        assert ask(healthy(**changes), "/live")[0] == "200"


def test_a_worker_whose_loop_is_stuck_is_dead():
    stuck = healthy(turned=time.monotonic() - STUCK_AFTER_S - 1)
    assert ask(stuck, "/live")[0] == "503"
    assert "the event loop does not turn" in json.loads(ask(stuck, "/ready")[1])["missing"]


def test_the_database_is_asked(database):
    assert check(database)() == ""
    (port,) = free_ports(1)
    assert "No Postgres answers" in check(f"postgresql://me:secret@127.0.0.1:{port}/news")()
    assert "secret" not in check(f"postgresql://me:secret@127.0.0.1:{port}/news")()


def test_the_broker_is_asked(kafka_settings):
    assert asyncio.run(health_module._broker(kafka_settings)) == ""
    (port,) = free_ports(1)
    gone = kafka_settings.model_copy(update={"kafka": f"127.0.0.1:{port}"})
    assert "No Kafka answers" in asyncio.run(health_module._broker(gone))
    with socket.socket() as silent:  # as a broker that is stopped: it takes connections, and says nothing
        silent.bind(("127.0.0.1", port))
        silent.listen()
        assert "does not answer within 3 s" in asyncio.run(health_module._broker(gone))


def test_it_answers_over_http():
    (port,) = free_ports(1)
    serve(healthy(generation=0), "127.0.0.1", port)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/live") as response:
        assert response.status == 200
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as response:
        assert b"newsburst_records_total" in response.read()
    for path, status in (("/ready", 503), ("/nothing", 404)):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{port}{path}")
        assert refused.value.code == status
        refused.value.close()


def test_it_listens_where_it_is_told_and_nowhere_else():
    (port,) = free_ports(1)
    serve(healthy(), "127.0.0.1", port)
    with pytest.raises(OSError, match="in use"):
        serve(healthy(), "127.0.0.1", port)
    with socket.socket() as probe:
        probe.settimeout(1)
        assert probe.connect_ex(("127.0.0.2", port)) != 0


def test_many_who_ask_at_once_ask_postgres_once_and_take_no_threads(monkeypatch):
    asked = []

    def slow():
        asked.append(1)
        time.sleep(0.5)
        return ""

    (port,) = free_ports(1)
    serve(healthy(database=slow), "127.0.0.1", port)
    threads = threading.active_count()
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(80)]
    for connection in connections:
        connection.sendall(b"GET /ready HTTP/1.1\r\nHost: x\r\n\r\n")
    assert all(connection.recv(100).startswith(b"HTTP/1.1 200") for connection in connections)
    assert len(asked) <= 2
    assert threading.active_count() <= threads + 2
    for connection in connections:
        connection.close()


def test_those_who_ask_slowly_are_hung_up_on(monkeypatch):
    monkeypatch.setattr(health_module, "CONNECTION_TIMEOUT_S", 0.5)
    (port,) = free_ports(1)
    serve(healthy(), "127.0.0.1", port)
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(MAX_CONNECTIONS + 50)]
    for connection in slow:
        connection.settimeout(20)
    assert all(hung_up(connection) for connection in slow)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/live") as response:
        assert response.status == 200


def hung_up(connection):
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
    finally:
        connection.close()
