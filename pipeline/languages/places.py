"""Places: which countries a text names, in any language that the Unicode CLDR knows.

The names of countries, and of the cities that time zones are called by, come from the CLDR (`scripts/place-names`). Languages put
endings to names ("Peru" becomes "peruanisch"), so a name counts wherever a word begins with it, without its last vowels.
"""

import gzip
import json
from functools import cache
from importlib import resources

import regex

from pipeline.languages.background import ALIASES
from pipeline.languages.words import fold

UNSPACED = frozenset(["ja", "ko", "km", "lo", "my", "th", "zh"])
"""Languages in which a name can stand anywhere in a run of signs, or be followed by another word."""
SHORTEST_STEM = 4
"""Letters that are kept of a name, at least."""
SHORTEST_SIGNS = 2
"""Signs that a name has, at least, where words are not parted."""
_LAST_VOWELS = regex.compile(r"[aeiouyаеиоуыэюяієїαεηιουω]+$")


def places(text: str, language: str) -> set[str]:
    """The countries that `text` names, as codes of ISO 3166; a city stands for its country."""
    pattern, codes = _names(language)
    return {codes[found] for found in pattern.findall(fold(text, language))} if codes else set()


@cache
def _all() -> dict[str, dict[str, str]]:
    data = (resources.files(__package__) / "places.json.gz").read_bytes()
    names: dict[str, dict[str, str]] = json.loads(gzip.decompress(data))["names"]
    return names


@cache
def _names(language: str) -> "tuple[regex.Pattern[str], dict[str, str]]":
    """A pattern that finds the beginnings of names, the longest first; and what country each is of."""
    codes: dict[str, str] = {}
    unspaced = language in UNSPACED
    for name, code in _all().get(ALIASES.get(language, language), {}).items():
        folded = fold(name, language)
        stem = folded if unspaced else _stem(folded)
        if len(stem) >= SHORTEST_SIGNS:
            codes.setdefault(stem, code)
    anything = "|".join(map(regex.escape, sorted(codes, key=lambda stem: (-len(stem), stem))))
    return regex.compile(f"(?:{anything})" if unspaced else rf"(?<![\p{{L}}\p{{M}}])(?:{anything})"), codes


def _stem(name: str) -> str:
    stem: str = _LAST_VOWELS.sub("", name)
    return stem if len(stem) >= SHORTEST_STEM else name
