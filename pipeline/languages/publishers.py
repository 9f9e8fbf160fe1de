"""Publishers: which feeds belong to one, and what they leave in their headlines.

A family is the name under which the feeds of one publisher count once: "Reuters UK" and "Reuters Canada", "The Guardian
(blog)" and "theguardian.com". It comes from the name by rules, and from `families.json` where names differ altogether.
"""

import json
import re
import unicodedata
from functools import cache, lru_cache
from importlib import resources

import regex
from publicsuffixlist import PublicSuffixList

_NOTE = regex.compile(r"\s*\([^)]*\)|,.*? edition$")
_HOST = regex.compile(r"(?:[\p{L}\p{N}-]+\.)+[\p{L}]{2,}")
_UNSEEN = regex.compile(r"[\p{Mn}\p{Cf}\p{Cc}\p{Lm}]")
"""Accents, joiners and marks of direction."""
_LATIN = regex.compile(r"\p{Latin}")
_SEPARATOR = regex.compile(r"\s+(?:[-|\u2013\u2014\u00bb]|::)\s+|\s*\|\s*")
_MARK = re.compile(r"[-|:\u2013\u2014\u00bb]")
"""Without any of these in it, a title holds neither a separator nor a label."""
_MARKETS = frozenset(
    [
        "africa",
        "america",
        "asia",
        "au",
        "australia",
        "ca",
        "canada",
        "edition",
        "eu",
        "europe",
        "hk",
        "india",
        "international",
        "ireland",
        "ie",
        "in",
        "malaysia",
        "nz",
        "online",
        "philippines",
        "singapore",
        "uk",
        "us",
        "usa",
        "za",
    ]
)
"""Last words of a name that say which feed of a publisher it is."""
_COUNTRY = re.compile(r"[A-Z]{2}")
_EVERYWHERE = frozenset(
    ["AI", "CC", "CO", "EU", "FM", "GG", "IO", "LA", "LY", "ME", "SH", "SO", "ST", "TO", "TV", "WS", "XX"]
)
"""Top-level domains of two letters that are of no country, or that sites of all countries use."""
_GENERIC = frozenset(
    [
        "business",
        "daily",
        "express",
        "mail",
        "metro",
        "morning",
        "news",
        "post",
        "press",
        "star",
        "sun",
        "times",
        "today",
        "world",
    ]
)
"""Words that are no name by themselves."""
_SECTIONS = frozenset(
    [
        "analysis",
        "blog",
        "breaking",
        "breaking news",
        "comment",
        "commentary",
        "editorial",
        "editorials",
        "exclusive",
        "gallery",
        "letter",
        "letters",
        "live",
        "live blog",
        "live updates",
        "news",
        "op-ed",
        "opinion",
        "photos",
        "pictures",
        "podcast",
        "update",
        "updated",
        "video",
        "videos",
        "watch",
    ]
)
"""What headlines carry before or after them to say in which part of the paper they stand."""
_LABEL = regex.compile(
    rf"(?:{'|'.join(sorted(_SECTIONS - {'news', 'letter', 'live', 'comment', 'blog'}, key=len, reverse=True))})"
    r"(?:\s\d+)?\s*[:|]\s+",
    regex.IGNORECASE,
)
_LOOK_ALIKES = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455\u0501\u051b\u051d\u04bb\u0261"
    "\u03b1\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u0131\u0142\u00f8",
    "abekmhopctyxijsdqwhgaeikvoptuxilo",
)
"""Small letters of Cyrillic, Greek and others that look like Latin ones."""
LONGEST_NAME = 100
"""Characters of a part of a title that may name a publisher."""
MAX_CUTS = 6
"""Additions that a title may have: a longer chain of them is made up."""
_HEADLINE = 2
"""A headline has at least so many words: shorter ones are kept as they are."""


@cache
def _families() -> dict[str, str]:
    data = json.loads((resources.files(__package__) / "families.json").read_text(encoding="utf-8"))
    return {name: family for family, names in data["families"].items() for name in (family, *names)}


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@lru_cache(maxsize=65_536)
def country_of(host: str) -> str | None:
    """The country (ISO 3166) that the top-level domain of a host is of; None for other domains and those used everywhere."""
    top = host.rpartition(".")[2].upper()
    return None if top in _EVERYWHERE or not _COUNTRY.fullmatch(top) else {"UK": "GB"}.get(top, top)


def family(publisher: str) -> str:
    """The family of a publisher, from its name or its host. Names that look alike are one: accents and scripts do not count."""
    publisher = _seen(publisher)
    name = _NOTE.sub("", publisher).strip() or publisher
    if _HOST.fullmatch(name):
        domain = _suffixes().privatesuffix(name) or name
        name = domain.partition(".")[0]
        return _families().get(name, name)
    parts = [part.partition(".")[0] if _HOST.fullmatch(part) else part for part in name.split()]
    if len(parts) > 1 and parts[0] == "the":
        del parts[0]
    if " ".join(parts) in _families():
        return _families()[" ".join(parts)]
    while len(parts) > 1 and parts[-1] in _MARKETS and parts[-2] not in {"of", "and", "in"}:
        if all(part in _GENERIC for part in parts[:-1]):
            break
        del parts[-1]
    name = " ".join(parts)
    return _families().get(name, name)


def _seen(publisher: str) -> str:
    """The name in small letters as a reader sees it, whatever signs it is made of."""
    if publisher.isascii():
        return publisher.casefold()
    parts = unicodedata.normalize("NFKD", publisher.casefold()).translate(_LOOK_ALIKES)
    bare = _UNSEEN.sub("", parts) if _LATIN.search(parts) else parts
    return " ".join(unicodedata.normalize("NFC", bare).split()) or publisher.casefold()


def cut_publisher(title: str, publisher: str) -> str:
    """The headline without what its publisher added: "Opinion | Headline - The New York Times" is "Headline"."""
    if not _MARK.search(title):
        return title
    home = family(publisher)
    for _ in range(MAX_CUTS):
        shorter = _cut(title, home)
        if shorter is None:
            break
        title = shorter
    return title


def _cut(title: str, home: str) -> str | None:
    """The title without one addition; None if there is none."""
    label = _LABEL.match(title)
    if label and len(title[label.end() :].split()) >= _HEADLINE:
        return title[label.end() :]
    separators = list(_SEPARATOR.finditer(title))
    if not separators:
        return None
    first, last = separators[0], separators[-1]
    if _is_addition(title[last.end() :], home) and len(title[: last.start()].split()) >= _HEADLINE:
        return title[: last.start()]
    if _is_addition(title[: first.start()], home) and len(title[first.end() :].split()) >= _HEADLINE:
        return title[first.end() :]
    return None


def _is_addition(part: str, home: str) -> bool:
    """Whether this part of a title names a section, the publisher itself, or another that is well known."""
    name = part.casefold().strip()
    return 0 < len(name) <= LONGEST_NAME and (
        name in _SECTIONS or family(part) == home or name.removeprefix("the ") in _families()
    )
