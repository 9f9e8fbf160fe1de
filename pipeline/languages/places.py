"""Places: which countries a text names, in the languages that both `identify` and the Unicode CLDR know.

The names of countries, and of the cities after which time zones are named, come from the CLDR (`scripts/place-names`).
Languages add endings to names ("Peru" becomes "peruanisch"), so a name counts wherever a word begins with it. Vowels at
the end of the name are cut off first.
"""

import gzip
import json
from functools import cache
from importlib import resources

import regex

from pipeline.languages.background import ALIASES
from pipeline.languages.words import fold

UNSPACED = frozenset(["ja", "ko", "km", "lo", "my", "th", "zh"])
"""Languages in which a name counts anywhere, not just where a word begins; most write no spaces between words."""
SHORTEST_STEM = 4
"""The fewest letters of a stem; a name that would be cut to fewer stays whole."""
SHORTEST_SIGNS = 2
"""The fewest characters of a name that counts."""
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
    """A pattern that finds the stems of names, trying the longest first; and the country of each stem."""
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
