"""What is sent, and that hostile headlines are text in it."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime

import msgspec
import pytest

from pipeline.push.messages import cloud_event, mail, posted, without_secrets
from pipeline.replay import replay
from pipeline.stages.rules import DetectRule
from pipeline.times import HOUR
from tests.make import fingerprinted

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef").decode()
HOSTILE = "<!channel> @channel *bold* [x](https://evil.example) & \u202eevil\r\nBcc: all@example.com"


@pytest.fixture(scope="module")
def update():
    log = [fingerprinted(f"s{n}", "earthquake strike nepal capital", n) for n in range(5)]
    rule = DetectRule(threshold=3, window=HOUR, min_publishers=2)
    return next(update for step in replay(enumerate(log), detect_rule=rule) for update in step.updates)


@pytest.fixture
def record(update):
    return msgspec.to_builtins(msgspec.structs.replace(update, members=None))


@pytest.fixture
def hostile(update):
    return msgspec.to_builtins(msgspec.structs.replace(update, members=None, headline=HOSTILE))


def test_a_webhook_is_a_signed_cloud_event(record):
    sent = posted("webhook", "https://a.example/hook", SECRET, record, "https://news.example", NOW)
    event = json.loads(sent.body)
    assert (event["specversion"], event["type"]) == ("1.0", "newsburst.event.started")
    assert event["id"] == sent.headers["Webhook-Id"] == sent.headers["Idempotency-Key"] == f"{record['event_id']}/1"
    assert event["data"]["page"] == f"https://news.example/events/{record['event_id']}"
    assert (event["data"]["event_id"], event["data"]["sequence"]) == (record["event_id"], 1)
    signed = f"{event['id']}.{sent.headers['Webhook-Timestamp']}.".encode() + sent.body
    expected = hmac.new(b"0123456789abcdef", signed, hashlib.sha256).digest()
    assert sent.headers["Webhook-Signature"] == "v1," + base64.b64encode(expected).decode()
    assert int(sent.headers["Webhook-Timestamp"]) == NOW.timestamp()


def test_chats_show_hostile_headlines_as_text(hostile):
    said = json.loads(posted("slack", "https://a.example", None, hostile, None, NOW).body)
    slack = said["text"]
    assert said["mrkdwn"] is False
    assert "&lt;!channel&gt;" in slack
    assert "<!channel>" not in slack
    matter = json.loads(posted("mattermost", "https://a.example", None, hostile, None, NOW).body)["text"]
    assert "\\[x\\]\\(https\\://evil" in matter
    assert "\\*bold\\*" in matter
    assert "@channel" not in matter
    assert "@\u200bchannel" in matter
    telegram = posted("telegram", "https://api.example/bot1:x/sendMessage?chat_id=7", None, hostile, None, NOW)
    body = json.loads(telegram.body)
    assert telegram.url == "https://api.example/bot1:x/sendMessage"
    assert (body["chat_id"], set(body)) == ("7", {"chat_id", "text"})
    for text in (slack, matter, body["text"]):
        assert text.count("news.example") == 1
        assert "\u202e" not in text
        assert "\r" not in text


def test_mail_of_one_event_is_one_conversation_and_takes_no_header_from_a_headline(hostile):
    first = mail(hostile, "https://news.example", "newsburst@a.example", "desk@b.example", NOW)
    second = mail({**hostile, "sequence": 3}, "https://news.example", "newsburst@a.example", "desk@b.example", NOW)
    assert second["References"] == first["Message-ID"]
    assert first["Bcc"] is None
    assert "\u202e" not in first.as_string()
    assert "https://news.example/events/" in first.get_content()


def test_shown_addresses_hold_no_secrets():
    assert (
        without_secrets("https://user:key@hooks.example:8443/services/T0/B0/secret?x=1")
        == "https://hooks.example:8443/…"
    )
    assert without_secrets("desk@example.com") == "desk@example.com"
    assert without_secrets(f"https://hooks.example/services/{'x' * 40}abcd") == "https://hooks.example/…abcd"


def test_a_cloud_event_keeps_its_id_however_often_it_is_sent(record):
    assert cloud_event(record, None)["id"] == cloud_event(record, "https://a.example")["id"]
