"""Logs: one form, and no cause more than once a second."""

import json
import logging
import subprocess
import sys

from pipeline.logs import OncePerInterval

SAID = """
import logging
import structlog
from pipeline.config import Settings
from pipeline.logs import announce, configure

settings = Settings(log_format={form!r}, log_level="INFO")
configure(settings)
for number in range(50):
    structlog.get_logger("ours").warning("dead letter", number=number)
    logging.getLogger("theirs").warning("broker %s is away", number)
structlog.get_logger("ours").debug("not said")
try:
    1 / 0
except ZeroDivisionError:
    structlog.get_logger("ours").exception("failed")
announce(settings, "ready")
"""


def lines(form):
    ended = subprocess.run([sys.executable, "-c", SAID.format(form=form)], capture_output=True, text=True, check=True)
    return ended.stdout.splitlines(), ended.stderr.splitlines()


def test_json_is_one_object_a_line():
    out, err = lines("json")
    said = [json.loads(line) for line in err]
    assert [of["event"] for of in said[3:]] == ["dead letter (and 49 more)", "broker %s is away (and 49 more)"]
    assert [(of["level"], of["logger"], of["event"]) for of in said[:3]] == [
        ("warning", "ours", "dead letter"),
        ("warning", "theirs", "broker 0 is away"),
        ("error", "ours", "failed"),
    ]
    assert said[2]["exception"][0]["exc_type"] == "ZeroDivisionError"
    assert all(of["timestamp"].endswith("Z") for of in said)
    (ready,) = [json.loads(line) for line in out]
    assert (ready["event"], ready["level"]) == ("ready", "info")


def test_text_has_no_codes_of_a_terminal_where_there_is_none():
    out, err = lines("text")
    assert out == ["ready"]
    assert "dead letter" in err[0]
    assert "\x1b" not in "".join(err)


def test_what_is_held_back_is_counted(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("pipeline.logs.time.monotonic", lambda: now[0])
    once = OncePerInterval()

    def said(message):
        record = logging.makeLogRecord({"name": "x", "levelno": logging.WARNING, "msg": message, "args": ()})
        return record.msg if once.filter(record) else None

    assert said({"event": "away"}) == {"event": "away"}
    assert [said({"event": "away"}) for _ in range(7)] == [None] * 7
    assert said({"event": "another"}) == {"event": "another"}
    now[0] += 1
    assert said({"event": "away"}) == {"event": "away", "repeated": 7}
    assert said("plain") == "plain"
    assert said("plain") is None
    now[0] += 1
    assert said("plain") == "plain (and 1 more)"


def test_a_traceback_shows_no_local_variables_which_can_hold_passwords():
    said = """
import structlog
from pipeline.config import Settings
from pipeline.logs import configure
configure(Settings(log_format={form!r}))
def connect(password):
    raise OSError("no")
try:
    connect("hunter" + "2")
except OSError:
    structlog.get_logger().exception("failed")
"""
    for form in ("json", "text"):
        ended = subprocess.run(
            [sys.executable, "-c", said.format(form=form)], capture_output=True, text=True, check=True
        )
        assert "OSError" in ended.stderr
        assert "hunter2" not in ended.stderr


def test_other_causes_are_told_apart_and_what_is_held_is_said_at_the_end():
    said = """
import logging
import structlog
from pipeline.config import Settings
from pipeline.logs import configure
configure(Settings(log_format="json"))
for stage in ("cluster", "detect"):
    for _ in range(3):
        structlog.get_logger("ours").error("a stage failed", stage=stage, exc_info=KeyError(stage))
"""
    ended = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [of.get("stage") for of in found[:2]] == ["cluster", "detect"]
    assert [of["event"] for of in found[2:]] == ["a stage failed (and 2 more)"] * 2
