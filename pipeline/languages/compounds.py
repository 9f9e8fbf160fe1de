"""Compounds: a German "Brückeneinsturz" is "Brücken" and "Einsturz", which other headlines write as separate words.

A word is split into the words of a list with the largest geometric mean of frequencies, if that is larger than its own frequency
(Koehn and Knight, "Empirical methods for compound splitting", 2003). The lists are the most frequent words of wordfreq in order
(`scripts/word-counts`); the frequency of a word is taken to be the reciprocal of its rank (Zipf). A word that is not on the list
and does not consist of listed words may have one part that is listed, the longer the better: "Gleinalmtunnel" is "Gleinalm" and
"Tunnel". Its other part is long enough to be a word, or one of SHORT_PARTS: "Zugunglück" is "Zug" and "Unglück", not "Glück".
"""

import gzip
import math
from functools import cache
from importlib import resources
from typing import NamedTuple

LINKS = {
    "da": ("", "s", "e"),
    "de": ("", "s", "es", "n", "en", "e", "er"),
    "nb": ("", "s", "e"),
    "nl": ("", "s", "e", "n", "en"),
    "sv": ("", "s"),
}
"""The languages whose compounds are split, each with the letters that may follow a part, the last part too."""
SHORTEST_PART = 4
SHORTEST_UNKNOWN = 5
SHORTEST_HEAD = 3
LONGEST_COMPOUND = 40
MOST_PARTS = 4
SHORT_PARTS = {
    "de": frozenset(
        "amt bau bus bär dom eis erd gas groß haupt hof kuh nach nord ost rad rat see ski süd tal tod tor uni zoo zug".split()  # noqa: SIM905 - one line
    )
}
"""What a word that is not on the list may begin with, though it is short, or a stop word, or no word by itself."""
ENDINGS = {
    "de": frozenset(
        "chen eben eins ende enden eren erin ernde ernden erst erste ersten eten heit igen iger igkeit isch ische ischem ischen "  # noqa: SIM905
        "ischer isches keit lich liche lichen ling lings logen nisse sche sion sten tisch tische tischen ungen".split()
    )
}
"""Words of the list that are endings of other words: they are no parts."""


class _Cover(NamedTuple):
    """The beginning of a word, covered by parts."""

    rarity: float
    """the sum of the logarithms of their ranks"""
    parts: tuple[str, ...]


@cache
def ranks(language: str) -> dict[str, int]:
    """The words that can be parts of compounds, in small letters, with their ranks by frequency, starting at 1."""
    path = resources.files(__package__) / "parts" / f"{language}.txt.gz"
    _, *words = gzip.decompress(path.read_bytes()).decode().splitlines()  # the first line says where they come from
    return {word: rank for rank, word in enumerate(words, 1) if word}


def split(word: str, language: str) -> tuple[str, ...]:
    """The parts of a word in small letters, without the letters after them; the word alone if it is no compound."""
    if language not in LINKS or not 2 * SHORTEST_PART <= len(word) <= LONGEST_COMPOUND:
        return (word,)
    known = ranks(language)
    best: tuple[str, ...] = (word,)
    least = math.log(known[word]) if word in known else math.inf
    reached = {0: _Cover(0.0, ())}
    for count in range(1, MOST_PARTS + 1):
        reached = _extended(reached, word, language)
        whole = reached.get(len(word))
        if whole and count > 1 and whole.rarity / count < least:
            least, best = whole.rarity / count, whole.parts
    return best if word in known or len(best) > 1 else _beside_unknown(word, language)


def _extended(reached: dict[int, _Cover], word: str, language: str) -> dict[int, _Cover]:
    """Covers with one more part, by where they end: for each end the one with the most frequent parts."""
    known, endings = ranks(language), ENDINGS.get(language, frozenset())
    further: dict[int, _Cover] = {}
    for start, cover in reached.items():
        for stop in range(start + SHORTEST_PART, len(word) + 1):
            part = word[start:stop]
            if part not in known or part in endings:
                continue
            longer = _Cover(cover.rarity + math.log(known[part]), (*cover.parts, part))
            for link in LINKS[language]:
                end = stop + len(link)
                if word.startswith(link, stop) and (end not in further or longer < further[end]):
                    further[end] = longer
    return further


def _beside_unknown(word: str, language: str) -> tuple[str, ...]:
    """The longest known word with which the word begins or ends, and the unknown rest; or the word alone."""
    known, endings = ranks(language), ENDINGS.get(language, frozenset())
    short = SHORT_PARTS.get(language, frozenset())
    found: list[tuple[int, tuple[str, ...]]] = [(0, (word,))]
    for at in range(SHORTEST_HEAD, len(word) - SHORTEST_PART + 1):
        head, tail = word[:at], word[at:]
        if len(head) < SHORTEST_UNKNOWN and head not in short:
            continue
        if tail in known and tail not in endings:
            found.append((len(tail), (head, tail)))
        if head in known or head in short:
            rests = [tail.removeprefix(link) for link in LINKS[language] if tail.startswith(link)]
            found += [
                (len(head), (head, rest)) for rest in rests if len(rest) >= SHORTEST_UNKNOWN and rest not in endings
            ]
    return max(found)[1]
