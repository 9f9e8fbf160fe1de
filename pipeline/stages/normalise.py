"""Normalise: a crawled story becomes clean text, a canonical URL, and tokens that can be compared."""

import html
import re
import unicodedata
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pipeline.languages.identify import identify
from pipeline.languages.publishers import cut_publisher, family
from pipeline.languages.words import tokenise
from pipeline.records import MAX_BODY, MAX_TITLE, InvalidRecord, NormalisedStory, Story

EARLIEST_YEAR = 1990
"""Before the first news on the web: an earlier `crawled_at` is a broken clock (1970) or a wrong field."""
CLOCK_TOLERANCE = timedelta(days=1)
"""How far ahead of the broker's clock a crawler's may be; up to there its stories are taken at the broker's time."""
LEAD = 400
"""Characters at the beginning of a body that say what it is about: news is written that way."""

_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->")
_PLAIN = re.compile(r"[ !-%'-;=-~]*")
"""ASCII without markup or control characters."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]+")
_QUOTES = str.maketrans("\u2018\u2019\u201a\u201b\u02bc\u201c\u201d\u201e\u201f\u00ab\u00bb", '\'\'\'\'\'""""""')
_CANONICAL = re.compile(r"https?://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/[!\"$-;=@-Z\\^-~]*")
"""Most URLs: a host in small letters and a path, and nothing that would have to go."""
_TRACKING = re.compile(r"utm_.*|fbclid|gclid|dclid|msclkid|yclid|mc_[ce]id|igshid|ocid|cmpid|ns_.*", re.IGNORECASE)


def normalise(
    story: Story, received_at: datetime, default_language: str = "en", *, stems: bool = True
) -> NormalisedStory:
    """The story in comparable form; `received_at` is when the broker (or the reader of a file) took it in.

    A story without a language is in that of its text, or in `default_language` where that cannot be told. Without `stems`
    the tokens are the words themselves.
    Raises InvalidRecord for a URL that is not of the web, a date that cannot be, and a title without text.
    """
    title = clean_text(story.title)[:MAX_TITLE]  # NFKC can make one sign eighteen
    if not title:
        raise InvalidRecord(f"Wrong Story: title: {story.title[:200]!r} holds no text.")
    url = canonical_url(story.url)
    publisher = clean_text(story.publisher) or urlsplit(url).netloc
    body = clean_text(story.body or "")[:MAX_BODY]
    language = (story.language or identify(f"{title} {body}") or default_language).lower().replace("_", "-")
    edition = language.partition("-")[0]
    headline = cut_publisher(title, publisher)
    tokens, marked = tokenise(headline, edition, stems=stems)
    return NormalisedStory(
        id=story.id or story_id(url),
        edition=edition,
        url=url,
        title=headline,
        publisher=publisher,
        family=family(clean_text(story.publisher, unseen="") or publisher),
        language=language,
        crawled_at=event_time(story.crawled_at, received_at),
        received_at=received_at,
        published_at=story.published_at,
        tokens=tokens,
        marked=marked,
        lead=tokenise(body[:LEAD], edition, stems=stems)[0] if body else [],
        body=body or None,
        retracted=story.retracted,
    )


def story_id(url: str) -> str:
    """The id of a story that came without one: 128 bits of the BLAKE2b hash of its canonical URL."""
    return blake2b(url.encode(), digest_size=16).hexdigest()


def event_time(crawled_at: datetime, received_at: datetime) -> datetime:
    """`crawled_at`, but never after `received_at`. Raises InvalidRecord if it cannot be true."""
    if crawled_at.year < EARLIEST_YEAR:
        raise InvalidRecord(f"Wrong Story: crawled_at: {crawled_at.isoformat()} is before {EARLIEST_YEAR}.")
    if crawled_at > received_at + CLOCK_TOLERANCE:
        raise InvalidRecord(
            f"Wrong Story: crawled_at: {crawled_at.isoformat()} is more than a day "
            f"after it was received ({received_at.isoformat(timespec='seconds')})."
        )
    return min(crawled_at, received_at).astimezone(UTC)


def clean_text(text: str, unseen: str = " ") -> str:
    """Text as a reader sees it: entities and tags resolved, NFKC, one quote sign, single spaces.

    Control characters and others that are not seen become `unseen`.
    """
    if _PLAIN.fullmatch(text):
        return " ".join(text.split())
    text = _TAG.sub(" ", html.unescape(text))
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    return " ".join(_CONTROL.sub(unseen, text).split())


def canonical_url(url: str) -> str:
    """The URL without what differs between visits: tracking parameters, fragment, default port, case of the host.

    Raises InvalidRecord if it is not an absolute http or https URL.
    """
    if _CANONICAL.fullmatch(url):
        return url
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme.lower() not in {"http", "https"}:
        raise InvalidRecord(f"Wrong Story: url: {url[:200]!r} is not an absolute http or https URL.")
    scheme = parts.scheme.lower()
    if port is not None and port != {"http": 80, "https": 443}[scheme]:
        host = f"{host}:{port}"
    query = parts.query
    if query:
        pairs = parse_qsl(query, keep_blank_values=True)
        kept = [(name, value) for name, value in pairs if not _TRACKING.fullmatch(name)]
        if len(kept) < len(pairs):
            query = urlencode(kept)
    return urlunsplit((scheme, host, parts.path or "/", query, ""))
