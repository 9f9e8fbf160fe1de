"""Health: live while the loop turns, ready when nothing is missing."""

import json
import time
import urllib.error
import urllib.request

import pytest

from agents.health import STUCK, Health, answers, serve
from pipeline.embedded.ports import free_ports
from pipeline.storage.engine import check


def ask(health, path):
    said = []
    body = b"".join(
        answers(health)({"PATH_INFO": path, "REQUEST_METHOD": "GET"}, lambda status, _: said.append(status))
    )
    return said[0][:3], body


def healthy(**changes):
    return Health(**{"database": lambda: "", "generation": 3} | changes)


def test_a_worker_with_all_it_needs_is_live_and_ready():
    assert ask(healthy(), "/live") == ("200", b'{"live": true}\n')
    status, body = ask(healthy(partitions=4, lag=7), "/ready")
    assert status == "200"
    assert json.loads(body) == {"ready": True, "missing": [], "generation": 3, "partitions": 4, "lag": 7}


def test_what_is_missing_is_said():
    for changes, reason in (
        ({"database": lambda: "No Postgres answers"}, "No Postgres answers"),
        ({"generation": 0}, "it has not joined its consumer group"),
        ({"loading": 2}, "it loads the state of 2 partitions"),
    ):
        status, body = ask(healthy(**changes), "/ready")
        assert (status, json.loads(body)["missing"]) == ("503", [reason])
        assert ask(healthy(**changes), "/live")[0] == "200"


def test_a_worker_whose_loop_is_stuck_is_dead():
    stuck = healthy(turned=time.monotonic() - STUCK - 1)
    assert ask(stuck, "/live")[0] == "503"
    assert "the event loop does not turn" in json.loads(ask(stuck, "/ready")[1])["missing"]


def test_the_database_is_asked(database):
    assert check(database)() == ""
    (port,) = free_ports(1)
    assert "No Postgres answers" in check(f"postgresql://me:secret@127.0.0.1:{port}/news")()
    assert "secret" not in check(f"postgresql://me:secret@127.0.0.1:{port}/news")()


def test_it_answers_over_http():
    (port,) = free_ports(1)
    serve(healthy(generation=0), port)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/live") as response:
        assert response.status == 200
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as response:
        assert b"newsburst_records_total" in response.read()
    for path, status in (("/ready", 503), ("/nothing", 404)):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{port}{path}")
        assert refused.value.code == status
        refused.value.close()
