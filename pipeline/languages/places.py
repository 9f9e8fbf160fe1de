"""Places: which countries a text names, in the languages that both `identify` and the Unicode CLDR know.

The names of countries, and of the cities after which time zones are named, come from the CLDR (`scripts/place-names`).
Languages add endings to names ("Peru" becomes "peruanisch") or change them ("Перу" is a stem of "перуанский"), so a rare
word counts as well if it begins with a name, or with a name without its last vowels. A common word does not: "children"
does not name Chile.
"""

import gzip
import json
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

import regex

from pipeline.languages.background import ALIASES, background
from pipeline.languages.words import fold, tokenise

UNSPACED = frozenset(["ja", "ko", "km", "lo", "my", "th", "zh"])
"""Languages in which a name counts anywhere, not just where a word begins; most write no spaces between words."""
SHORTEST_STEM = 4
"""The fewest letters of a stem; a name that would be cut to fewer stays whole."""
LONGEST_ENDING = 7
SHORT_ENDING = 2
"""Letters that can follow a name in any word, common or not, as in "Perus"."""
WITHOUT_ENDINGS = frozenset(["en"])
"""Languages in which only words that are names count: most other words that begin like one are other words."""
SHORTEST_SIGNS = 2
"""The fewest characters of a name that counts."""
_LAST_VOWELS = regex.compile(r"[aeiouyаеиоуыэюяієїαεηιουω]+$")


def places(text: str, language: str) -> set[str]:
    """The countries that `text` names, as codes of ISO 3166; a city stands for its country."""
    named = _names(language)
    found = named.pattern.findall(fold(text, language)) if named.codes else []
    return {named.codes[stem] for stem, ending in found if _is_name(stem, ending, language)}


@lru_cache(maxsize=65_536)
def _is_name(stem: str, ending: str, language: str) -> bool:
    word, named = stem + ending, _names(language)
    if language in UNSPACED or any(word[: len(word) - cut] in named.whole for cut in range(SHORT_ENDING + 1)):
        return True
    if language in WITHOUT_ENDINGS or len(ending) > LONGEST_ENDING:
        return False
    known = background(language).holding
    return not any(token in known for token in tokenise(word, language)[0])


@cache
def _all() -> dict[str, dict[str, str]]:
    data = (resources.files(__package__) / "places.json.gz").read_bytes()
    names: dict[str, dict[str, str]] = json.loads(gzip.decompress(data))["names"]
    return names


class _Names(NamedTuple):
    """The names of countries and cities in a language."""

    pattern: "regex.Pattern[str]"
    """finds the stems of names, trying the longest first, each with the rest of the word"""
    codes: dict[str, str]
    """the country of each stem"""
    whole: frozenset[str]


@cache
def _names(language: str) -> _Names:
    codes: dict[str, str] = {}
    names = _all().get(ALIASES.get(language, language), {})
    folded = {fold(name, language): code for name, code in names.items()}
    unspaced = language in UNSPACED
    for name, code in sorted(folded.items(), key=lambda item: (-len(item[0]), item[0])):
        stem = name if unspaced else _stem(name)
        if len(stem) >= SHORTEST_SIGNS:
            codes.setdefault(stem, code)
    anything = "|".join(map(regex.escape, sorted(codes, key=lambda stem: (-len(stem), stem))))
    letter = r"[\p{L}\p{M}]"
    pattern = rf"({anything})()" if unspaced else rf"(?<!{letter})({anything})({letter}*+)"
    return _Names(regex.compile(pattern), codes, frozenset(folded))


def _stem(name: str) -> str:
    stem: str = _LAST_VOWELS.sub("", name)
    return stem if len(stem) >= SHORTEST_STEM else name
