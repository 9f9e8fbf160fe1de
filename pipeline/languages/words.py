"""Stop words, stems and words of each language.

Stems are Snowball's (PyStemmer). English stop words are Snowball's list, which does better on headlines than longer ones;
other languages have the lists of the package stop-words (BSD-3-Clause).
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

import regex
import Stemmer
from stop_words import LANGUAGE_MAPPING, get_stop_words

SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish",
    "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
    "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""ISO 639-1 code to the name of its Snowball stemmer."""

MAX_TOKEN_LENGTH = 64
"""Characters of a word that count: what is longer is no word, and words are kept."""
STEM_CACHE_SIZE = 65_536
"""The most words of a language that are remembered with their stems."""

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30fc"
_WORD = regex.compile(
    rf"(?P<unspaced>[{_UNSPACED}][{_UNSPACED}\p{{M}}]*)"
    rf"|[[\p{{L}}\p{{N}}]--[{_UNSPACED}]](?:[[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}]]|'(?=\p{{L}}))*",
    regex.VERSION1,
)
"""A run of a script that is written without spaces, or a word: letters, digits and marks, an apostrophe inside."""
_ASCII_WORD = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9]|'(?=[A-Za-z]))*")
"""The same in a text of ASCII characters alone."""
_ONLY_HIRAGANA = regex.compile(r"[\p{Hiragana}\u30fc]+")
_POINTS = regex.compile(
    r"[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]+"
)
"""Vowel points and stretching of Hebrew and Arabic, which most writers leave out."""
_CONJUNCT_JOINERS = regex.compile(r"(?<=\p{M})[\u200c\u200d]")
"""Joiners after a vowel sign or virama only shape letters (Indic scripts); elsewhere they part words (Persian)."""

_TURKISH = str.maketrans("\u0130I", "i\u0131")
_PERSIAN = str.maketrans("\u064a\u0643\u0649", "\u06cc\u06a9\u06cc")
_LETTERS = {
    "ar": str.maketrans("\u0623\u0625\u0622\u0671\u0649", "\u0627\u0627\u0627\u0627\u064a"),
    "az": _TURKISH,
    "fa": _PERSIAN,
    "ru": str.maketrans("\u0451\u0401", "\u0435\u0415"),
    "tr": _TURKISH,
    "ur": _PERSIAN,
}
"""Letters that readers of a language take for one, and capitals that do not become small as in English."""


@cache
def stop_words(language: str) -> frozenset[str]:
    """The words of `language` (ISO 639-1) that say nothing about what a text is about; empty where there is no list."""
    if language in {"nn", "no"}:
        language = "nb"
    path = resources.files(__package__) / "stop_words" / f"{language}.txt"
    if path.is_file():
        lines = path.read_text(encoding="utf-8").splitlines()
        return frozenset(word for line in lines if not line.startswith("#") for word in line.split())
    if language in LANGUAGE_MAPPING:
        return frozenset(fold(word, language) for word in get_stop_words(language))
    return frozenset()


@cache
def stemmer(language: str) -> Callable[[str], str]:
    """A function from a folded word of `language` to its stem; words stay as they are where there is no stemmer."""
    if language not in SNOWBALL:
        return str
    stem: Callable[[str], str] = Stemmer.Stemmer(SNOWBALL[language]).stemWord
    return stem


def fold(text: str, language: str) -> str:
    """Text in small letters, with what readers of the language do not tell apart made the same."""
    letters = _LETTERS.get(language)
    if letters:
        text = text.translate(letters)
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", _POINTS.sub("", text).lower())


def words(text: str) -> list[tuple[str, bool]]:
    """The words of a text, and character pairs where its script has no spaces; each with whether it is such a pair.

    Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese are cut into overlapping pairs, as is usual in search engines.
    Pairs of Hiragana alone are grammar and left out, unless they are all there is.
    """
    if text.isascii():
        return [(word[:MAX_TOKEN_LENGTH], False) for word in _ASCII_WORD.findall(text)]
    found: list[tuple[str, bool]] = []
    for match in _WORD.finditer(_CONJUNCT_JOINERS.sub("", text)):
        run = match.group()
        if match.lastgroup is None:
            found.append((run[:MAX_TOKEN_LENGTH], False))
            continue
        pairs = [run[start : start + 2] for start in range(len(run) - 1)] or [run]
        telling = [pair for pair in pairs if not _ONLY_HIRAGANA.fullmatch(pair)]
        found += [(pair, True) for pair in telling or pairs]
    return found


class _Term(NamedTuple):
    """What a word of a text is to a reader of its language."""

    token: str
    tells: bool
    """it is not a stop word"""
    marked: bool
    """it is written with a capital or a digit first"""


class _Terms(dict[tuple[str, bool], _Term]):
    """The words of a language that came before, each with whether it is a pair, as terms. Forgets all when there are many."""

    def __init__(self, language: str, *, stems: bool) -> None:
        super().__init__()
        self._language = language
        self._stop_words = stop_words(language)
        self._stem = stemmer(language) if stems else str

    def __missing__(self, key: tuple[str, bool]) -> _Term:
        word, paired = key
        folded = fold(word, self._language).removesuffix("'s")
        tells = folded not in self._stop_words and (len(folded) > 1 or folded.isdigit() or paired)
        token = folded if paired else self._stem(folded)
        if len(self) >= STEM_CACHE_SIZE:
            self.clear()
        term = self[key] = _Term(token, tells, not paired and (word[0].isupper() or word[0].isdigit()))
        return term


@lru_cache(maxsize=128)
def _terms(language: str, stems: bool) -> _Terms:
    return _Terms(language, stems=stems)


def tokenise(text: str, language: str, *, stems: bool = True) -> tuple[list[str], list[str]]:
    """The stems of the content words of `text`, in reading order, and those written with a capital or a digit first.

    A text of nothing but stop words ("Who is who?") keeps them: they are all it says. Without `stems`, the words themselves.
    """
    known = _terms(language, stems)
    terms = [known[word] for word in words(text)]
    content = [term for term in terms if term.tells] or terms
    return [term.token for term in content], list(dict.fromkeys([term.token for term in content if term.marked]))
