"""Publishers: which feeds belong to one, and what they leave in their headlines.

A family is the name under which the feeds of one publisher count once: "Reuters UK" and "Reuters Canada", "The Guardian
(blog)" and "theguardian.com". It comes from the name by rules, and from `families.json` where names differ altogether.
"""

import json
import re
from functools import cache, lru_cache
from importlib import resources

import regex
from publicsuffixlist import PublicSuffixList

_NOTE = regex.compile(r"\s*\([^)]*\)|,.*? edition$")
_HOST = regex.compile(r"(?:[\p{L}\p{N}-]+\.)+[\p{L}]{2,}")
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
def family(publisher: str) -> str:
    """The family of a publisher, from its name or its host."""
    name = _NOTE.sub("", publisher.casefold()).strip() or publisher.casefold()
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


def cut_publisher(title: str, publisher: str) -> str:
    """The headline without what its publisher added: "Opinion | Headline - The New York Times" is "Headline"."""
    if not _MARK.search(title):
        return title
    home = family(publisher)
    while True:
        shorter = _cut(title, home)
        if shorter is None:
            return title
        title = shorter


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
    return bool(name) and (name in _SECTIONS or family(part) == home or name.removeprefix("the ") in _families())
