"""Sending: one attempt to deliver, and when the next one is due."""

import asyncio
import random
import smtplib
import ssl
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import aiohttp

from pipeline.config import Settings, SettingsError
from pipeline.printed import shown
from pipeline.push.messages import mail, posted
from pipeline.retry_after import retry_after
from pipeline.storage.subscriptions import Delivery

TIMEOUT_S, READ_S = 15.0, 3.0
FIRST_WAIT = timedelta(seconds=10)
LONGEST_WAIT = timedelta(hours=1)
PATIENCE = timedelta(hours=24)
"""How long a subscription may fail until it is given up."""
LONGEST_ANSWER = 200
GONE = 410
"""The status by which a server says that it wants no more."""


class Answer(NamedTuple):
    """What came of an attempt."""

    arrived: bool
    said: str
    is_gone: bool = False
    """whether the subscriber wants no more"""
    after: timedelta | None = None
    """when it wants to be asked again"""


async def send(session: aiohttp.ClientSession, one: Delivery, settings: Settings) -> Answer:
    """Try to deliver once."""
    now = datetime.now(UTC)
    try:
        if one.subscription.kind == "email":
            message = mail(one.record, settings.web_url, settings.mail_from, one.subscription.target, now)
            await asyncio.to_thread(_send_mail, settings, message)
            return Answer(arrived=True, said="accepted")
        request = posted(
            one.subscription.kind, one.subscription.target, one.subscription.secret, one.record, settings.web_url, now
        )
        async with session.post(
            request.url, data=request.body, headers=request.headers, allow_redirects=False
        ) as response:
            said = await _beginning(response)
            return Answer(
                200 <= response.status < 300,
                shown(f"{response.status} {response.reason or ''} {said}".strip())[:LONGEST_ANSWER],
                response.status == GONE,
                retry_after(response.headers.get("Retry-After", ""), now),
            )
    except (aiohttp.ClientError, OSError, smtplib.SMTPException, SettingsError, ValueError) as error:
        return Answer(arrived=False, said=shown(str(error) or type(error).__name__)[:LONGEST_ANSWER])


def again_at(one: Delivery, answer: Answer, now: datetime) -> datetime | None:
    """When to try again: later each time, up to an hour; None where the subscription is to be given up."""
    failing = one.subscription.failing_since
    if answer.is_gone or (failing is not None and now - failing > PATIENCE):
        return None
    wait: timedelta = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(one.attempts - 1, 20))
    wait *= 0.5 + random.random() / 2  # noqa: S311 - so that not all try again at once
    return now + max(wait, min(answer.after or timedelta(), LONGEST_WAIT))


async def _beginning(response: aiohttp.ClientResponse) -> str:
    """How the body of an answer begins, as far as it can be read: it is the status that counts."""
    with suppress(aiohttp.ClientError, TimeoutError, ValueError):
        async with asyncio.timeout(READ_S):
            return (await response.content.read(LONGEST_ANSWER)).decode(errors="replace")
    return ""


def _send_mail(settings: Settings, message: Any) -> None:
    if settings.smtp is None:
        raise SettingsError("NEWSBURST_SMTP is not set: mail cannot be sent.")
    parts = urlsplit(settings.smtp.get_secret_value())
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname:
        raise SettingsError("NEWSBURST_SMTP should look like smtp://user:password@host:587 or smtps://host:465.")
    secure = parts.scheme == "smtps"
    context = ssl.create_default_context()
    made = (
        smtplib.SMTP_SSL(parts.hostname, parts.port or 465, timeout=TIMEOUT_S, context=context)
        if secure
        else smtplib.SMTP(parts.hostname, parts.port or 587, timeout=TIMEOUT_S)
    )
    with made as server:
        if not secure:
            server.ehlo()
            if server.has_extn("starttls"):
                server.starttls(context=context)
        if parts.username:
            server.login(unquote(parts.username), unquote(parts.password or ""))
        server.send_message(message)
