"""Normalise: a crawled story becomes clean text, a canonical URL, and tokens that can be compared."""

import html
import re
import unicodedata
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import accumulate
from typing import Any
from urllib.parse import urlsplit

import msgspec
import regex

from pipeline.codec import InvalidRecord
from pipeline.languages.codes import known_tag, language_of
from pipeline.languages.identify import identify
from pipeline.languages.publishers import cut_publisher, family
from pipeline.languages.words import tokenise
from pipeline.records import MAX_ID, MAX_PUBLISHER, MAX_TITLE, NormalisedStory, Story
from pipeline.stages.editions import edition_of
from pipeline.stages.rules import NormaliseRule
from pipeline.stages.urls import canonical_url, url_key

EARLIEST_YEAR = 1990
"""Before the first news on the web: an earlier `crawled_at` is a broken clock (1970) or a wrong field."""
CLOCK_TOLERANCE = timedelta(days=1)
"""How far ahead of the broker's clock a crawler's may be; up to there its stories are taken at the broker's time."""
BODY_CHARACTERS = 20_000
"""Characters of a body that are compared ..."""
BODY_CHARACTERS_CLEANED = 3 * BODY_CHARACTERS
"""... and that are cleaned for it: the others may be markup."""
READ_FOR_LANGUAGE = 1_000
MAX_EXTRA = 16_384
"""Bytes of JSON that are kept of fields that we do not know."""
RULE = NormaliseRule()
"""The usual one."""
LEAD_CHARACTERS = 400
"""Characters at the beginning of a body that say what it is about: news is written that way."""

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_LONG_NUMBER = re.compile(r"&#[0-9]{9,};?")
"""A character reference to no character, which Python would compute."""
_MARKS = regex.compile(r"([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+")
"""More combining marks than any text has: to order them takes time quadratic in their number. UAX #15 cuts at 30, too."""
_PLAIN = re.compile(r"[ !-%'-;=-~]*")
"""ASCII without markup or control characters."""
_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u061c\U000e0000-\U000e007f]+"
)
_QUOTES = str.maketrans("\u2018\u2019\u201a\u201b\u02bc\u201c\u201d\u201e\u201f\u00ab\u00bb", '\'\'\'\'\'""""""')


def normalise(story: Story, received_at: datetime, rule: NormaliseRule = RULE) -> NormalisedStory:
    """The story in comparable form; `received_at` is when the broker (or the reader of a file) took it in.

    A story without a language that is known is in that of its text, or in that of the rule where the text does not tell.
    Raises InvalidRecord for a URL that is not of the web, a date that cannot be, an id with characters that cannot be seen, and a
    title without text.
    """
    title = clean_text(story.title)[:MAX_TITLE].rstrip()  # NFKC can make one sign eighteen
    if not title:
        raise InvalidRecord(f"`title` holds no text: {story.title[:200]!r}.")
    url = canonical_url(story.url)
    publisher = clean_text(story.publisher)[:MAX_PUBLISHER].rstrip() or urlsplit(url).netloc
    body = clean_text((story.body or "")[:BODY_CHARACTERS_CLEANED], longest=BODY_CHARACTERS)[:BODY_CHARACTERS]
    text, host = f"{title} {body[:READ_FOR_LANGUAGE]}", urlsplit(url).hostname or ""
    tag = known_tag(story.language or "") or identify(text, host) or rule.language
    language = language_of(tag)
    headline = cut_publisher(title, publisher)
    tokens, marked = tokenise(headline, language, stems=rule.stems)
    return NormalisedStory(
        id=_checked_id(story.id) if story.id else story_id(url),
        edition=edition_of(story, tag, rule),
        url=url,
        title=headline,
        publisher=publisher,
        family=family(clean_text(story.publisher, unseen="")[:MAX_PUBLISHER] or publisher),
        language=tag,
        crawled_at=event_time(story.crawled_at, received_at),
        received_at=received_at,
        published_at=_in_utc(story.published_at),
        tokens=tokens,
        marked=marked,
        lead=tokenise(body[:LEAD_CHARACTERS], language, stems=rule.stems)[0] if body else [],
        body=body or None,
        retracted=story.retracted,
        extra=kept_fields(story.extra),
    )


def kept_fields(extra: dict[str, Any]) -> dict[str, Any]:
    """Of the producer's own fields as many as fit MAX_EXTRA, the shortest first; in the order in which they came."""
    sizes = {name: len(msgspec.json.encode({name: value})) for name, value in extra.items()}
    if sum(sizes.values()) <= MAX_EXTRA:
        return extra
    shortest_first = sorted(sizes, key=sizes.__getitem__)
    totals = accumulate(map(sizes.__getitem__, shortest_first))
    kept = {name for name, total in zip(shortest_first, totals, strict=True) if total <= MAX_EXTRA}
    return {name: value for name, value in extra.items() if name in kept}


def _checked_id(story_id: str) -> str:
    if len(story_id.encode()) > MAX_ID:
        raise InvalidRecord(f"`id` has more than {MAX_ID} bytes of UTF-8.")
    if not story_id.isprintable():
        (unseen, *_) = (sign for sign in story_id if not sign.isprintable())
        raise InvalidRecord(f"`id` holds the character U+{ord(unseen):04X}, which cannot be seen: {story_id[:200]!r}.")
    return story_id


def _in_utc(published_at: datetime | None) -> datetime | None:
    try:
        return published_at and published_at.astimezone(UTC)
    except OverflowError:
        raise InvalidRecord(f"`published_at` cannot be: {published_at}.") from None


def story_id(url: str) -> str:
    """The id of a story that came without one: 128 bits of the BLAKE2b hash of what names the page of its canonical URL."""
    return blake2b(url_key(url).encode(), digest_size=16).hexdigest()


def event_time(crawled_at: datetime, received_at: datetime) -> datetime:
    """`crawled_at`, but never after `received_at`. Raises InvalidRecord if it cannot be true."""
    if crawled_at.year < EARLIEST_YEAR:
        raise InvalidRecord(f"`crawled_at` is before {EARLIEST_YEAR}: {crawled_at.isoformat()}.")
    if crawled_at > received_at + CLOCK_TOLERANCE:
        raise InvalidRecord(
            f"`crawled_at` is more than a day after the story was received ({received_at.isoformat(timespec='seconds')}): "
            f"{crawled_at.isoformat()}."
        )
    return min(crawled_at, received_at).astimezone(UTC)


def clean_text(text: str, unseen: str = " ", longest: int | None = None) -> str:
    """Text as a reader sees it: entities and tags resolved, NFKC, one quote sign, single spaces.

    Control characters and others that are not seen become `unseen`. Only the first `longest` are kept of what is
    not markup. Takes time linear in the text, whatever is in it.
    """
    if _PLAIN.fullmatch(text):
        return " ".join(text.split())
    text = _TAG.sub(" ", _without_comments(html.unescape(_LONG_NUMBER.sub(" ", text))))[:longest]
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _MARKS.sub(r"\1", text)).translate(_QUOTES)
    return " ".join(_CONTROL.sub(unseen, text).split())


def _without_comments(text: str) -> str:
    """Text without HTML comments; one that does not end is text. A regular expression would search for each end again."""
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts.append(text[at:start])
        at = end + 3
    return " ".join([*parts, text[at:]]) if parts else text
