"""What is sent: the same event as CloudEvents JSON, for chats, and as mail.

Webhooks are CloudEvents 1.0 in JSON (https://cloudevents.io), signed as Standard Webhooks says (https://www.standardwebhooks.com).
In chats and mail, headlines are text: what each of them would take for markup is escaped.
"""

import base64
import hmac
import re
from collections.abc import Mapping
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

import msgspec

from pipeline.printed import json_text, shown

_WORDS = {"started": "Breaking", "updated": "Grows", "reopened": "Broke again", "ended": "Ended"}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~:])")
_NO_BREAK = "\u200b"
"""Behind an @ it keeps a chat from taking the next word for somebody's name: Mattermost looks for names behind escapes, too."""
SECRET_PREFIX = "whsec_"  # noqa: S105 - it begins them, and is none
"""How the secrets of Standard Webhooks begin."""
LONGEST_HEADLINE = 300
SHOWN_END, LEAST_HIDDEN = 4, 40
"""So many characters of the end of an address are shown, to tell it from others, if so many or more are hidden."""


class Posted(NamedTuple):
    """A request to be made with POST."""

    url: str
    headers: Mapping[str, str]
    body: bytes


def page_of(base: str | None, event_id: str) -> str | None:
    """The address of an event's page, if it is known where the pages are."""
    return None if base is None else f"{base}/events/{quote(event_id, safe='')}"


def posted(
    kind: str, target: str, secret: str | None, record: Mapping[str, Any], base: str | None, now: datetime
) -> Posted:
    """The request that tells this update to a subscription of this kind; all kinds but email."""
    name = f"{record['event_id']}/{record['sequence']}"
    headers = {"Content-Type": "application/json", "Idempotency-Key": name}
    if kind == "webhook":
        body = json_text(cloud_event(record, base)).encode()
        headers["Content-Type"] = "application/cloudevents+json"
        headers |= signed(secret, name, now, body)
        return Posted(target, headers, body)
    if kind == "telegram":
        parts = urlsplit(target)
        fields = dict(parse_qsl(parts.query)) | {"text": plain(record, base)}
        url = urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
        return Posted(url, headers, msgspec.json.encode(fields))
    said = {"text": _slack(record, base), "mrkdwn": False} if kind == "slack" else {"text": _markdown(record, base)}
    return Posted(target, headers, msgspec.json.encode(said))


def cloud_event(record: Mapping[str, Any], base: str | None) -> dict[str, Any]:
    """The update as a CloudEvent: `id` is the same however often it is sent."""
    return {
        "specversion": "1.0",
        "id": f"{record['event_id']}/{record['sequence']}",
        "source": base or "newsburst",
        "type": f"newsburst.event.{record['state']}",
        "subject": record["event_id"],
        "time": record["at"],
        "datacontenttype": "application/json",
        "data": {name: value for name, value in record.items() if name != "members"}
        | {"page": page_of(base, record["event_id"])},
    }


def signed(secret: str | None, name: str, now: datetime, body: bytes) -> dict[str, str]:
    """The headers that prove who sent a body, and when: HMAC-SHA256 of `name.timestamp.body`."""
    if secret is None:
        return {}
    moment = str(int(now.timestamp()))
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    digest = hmac.digest(key, f"{name}.{moment}.".encode() + body, "sha256")
    return {
        "Webhook-Id": name,
        "Webhook-Timestamp": moment,
        "Webhook-Signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def mail(record: Mapping[str, Any], base: str | None, sender: str, to: str, now: datetime) -> EmailMessage:
    """The update as mail; the mails of one event are one conversation."""
    message = EmailMessage()
    message["From"], message["To"], message["Date"] = sender, to, format_datetime(now)
    headline = _headline(record)
    again = record["sequence"] > 1
    message["Subject"] = f"{'Re: ' if again else ''}{headline}"[:200]
    domain = sender.rpartition("@")[2]
    message["Message-ID"] = f"<{quote(record['event_id'], safe='')}.{record['sequence']}@{domain}>"
    if again:
        message["References"] = f"<{quote(record['event_id'], safe='')}.1@{domain}>"
    lines = [plain(record, base), ""]
    lines += [
        f"{shown(story['publisher'])}: {shown(story['title'])}\n{story['url']}\n" for story in record["stories"][:10]
    ]
    message.set_content("\n".join(lines))
    return message


def plain(record: Mapping[str, Any], base: str | None) -> str:
    """The update as text: the headline, the facts, where to read on."""
    return "\n".join(filter(None, [_said(record), _more(record, base)]))


def _said(record: Mapping[str, Any]) -> str:
    return f"{state_word(record)}: {_headline(record)}\n{facts(record)}"


def state_word(record: Mapping[str, Any]) -> str:
    """The state of an update, in a word or two."""
    return "Dismissed, no event" if record.get("dismissed") else _WORDS[record["state"]]


def facts(record: Mapping[str, Any]) -> str:
    """An update in a sentence."""
    publishers = record["publishers_total"] or record["publishers_in_window"]
    stories = record["stories_total"]
    first = record["stories"][0]["publisher"] if record["stories"] else None
    said = f"{stories:,} {'story' if stories == 1 else 'stories'} from {publishers:,} publisher{'' if publishers == 1 else 's'}"
    return f"{said}, first {shown(first)}" if first else said


def _slack(record: Mapping[str, Any], base: str | None) -> str:
    """Text for Slack without its markup, where only `&`, `<` and `>` mean something.

    https://docs.slack.dev/messaging/formatting-message-text
    """
    escaped = _said(record).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    more = _more(record, base)
    return escaped if more is None else f"{escaped}\n<{quote(more, safe=':/?&=#%')}>"


def _markdown(record: Mapping[str, Any], base: str | None) -> str:
    escaped = _MARKDOWN.sub(r"\\\1", _said(record)).replace("@", "@" + _NO_BREAK)
    more = _more(record, base)
    return escaped if more is None else f"{escaped}\n<{quote(more, safe=':/?&=#%')}>"


def _more(record: Mapping[str, Any], base: str | None) -> str | None:
    """Where to read on: the page of the event, else its first story."""
    return page_of(base, record["event_id"]) or (record["stories"][0]["url"] if record["stories"] else None)


def _headline(record: Mapping[str, Any]) -> str:
    headline = " ".join(shown(record["headline"]).split())
    return headline if len(headline) <= LONGEST_HEADLINE else f"{headline[:LONGEST_HEADLINE]}…"


def without_secrets(url: str) -> str:
    """The address of a subscription as it may be shown: paths of chats' webhooks are secrets."""
    parts = urlsplit(url)
    if not parts.netloc:
        return url
    host = parts.hostname or ""
    end = parts.path[-SHOWN_END:] if len(parts.path) > LEAST_HIDDEN else ""
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}/…{end}"
