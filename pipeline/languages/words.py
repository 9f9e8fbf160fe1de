"""Stop words, stems and words of each language.

Stems are Snowball's (PyStemmer). Where words have many endings, the first letters of the stem take its place (PREFIXES), which
find texts as well as dictionaries do (Can et al., "Information retrieval on Turkish texts", 2008).

English stop words are Snowball's list, which does better on headlines than longer ones. Others come from the package
stop-words (BSD-3-Clause), or are the most frequent words of the language in wordfreq.

Scripts that are written without spaces, and Hangul, are cut into overlapping runs of a few signs. That does better here than
cutting them into words, because headlines abbreviate words.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache, partial
from importlib import resources
from typing import NamedTuple

import regex
import Stemmer
from stop_words import LANGUAGE_MAPPING, get_stop_words

from pipeline.languages import compounds, ukrainian
from pipeline.languages.background import ALIASES, SINGLE_SIGNS, WITHOUT_CAPITALS

SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish",
    "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
    "yi": "yiddish",
}  # fmt: skip
"""ISO 639-1 code to the name of its Snowball stemmer; that of Turkish takes too much off short words."""

MAX_TOKEN_LENGTH = 64
"""Characters of a word that count: what is longer is no word, and words are kept."""
STEM_CACHE_SIZE = 65_536
"""The most words of a language that are remembered with their stems."""

PREFIXES = dict.fromkeys(
    "ar be bg cs da de et fi hr hu lt lv mk nb nl nn no pl ru sk sl sr sv uk".split(),  # noqa: SIM905 - one line
    5,
) | {"tr": 4}
"""Of the languages of which only the beginnings of stems count, how many letters do."""

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30fc"
_WORD = regex.compile(
    r"(?P<signs>\p{Han}+)"
    r"|(?P<katakana>\p{Katakana}[\p{Katakana}\u30fc]*)"
    r"|(?P<hiragana>\p{Hiragana}[\p{Hiragana}\u30fc]*)"
    r"|(?P<syllables>\p{Hangul}+)"
    r"|(?P<letters>[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}][\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{M}]*)"
    rf"|[[\p{{L}}\p{{N}}]--[{_UNSPACED}]](?:[[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}]]|'(?=\p{{L}}))*",
    regex.VERSION1,
)
"""A run of a script that is written without spaces, or a word: letters, digits and marks, an apostrophe inside."""
_ASCII_WORD = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9]|'(?=[A-Za-z]))*")
"""The same in a text of ASCII characters alone."""
_ONLY_HIRAGANA = regex.compile(r"[\p{Hiragana}\u30fc]+")
"""Japanese grammar."""
_POINTS = regex.compile(
    r"[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]+"
)
"""Vowel points and stretching of Hebrew and Arabic, which most writers leave out."""
_DIGIT = regex.compile(r"[\p{Nd}--[0-9]]", regex.VERSION1)
"""A digit of a script that has its own."""
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
    language = ALIASES.get(language, language)
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
    stem: Callable[[str], str] = str
    if language == "uk":
        stem = ukrainian.stem
    elif language in SNOWBALL:
        stem = Stemmer.Stemmer(SNOWBALL[language]).stemWord
    length = PREFIXES.get(language)
    return stem if length is None else lambda word: stem(word)[:length]


@cache
def _letters(language: str) -> dict[int, int] | None:
    if language != "zh":
        return _LETTERS.get(language)
    lines = (resources.files(__package__) / "simplified.txt").read_text(encoding="utf-8").splitlines()
    return str.maketrans(*lines[1:])


def fold(text: str, language: str) -> str:
    """Text in small letters, with what readers of the language do not tell apart made the same."""
    letters = _letters(language)
    if letters:
        text = text.translate(letters)
    if text.isascii():
        return text.lower()
    text = _DIGIT.sub(lambda digit: str(unicodedata.decimal(digit.group())), _POINTS.sub("", text))
    return unicodedata.normalize("NFC", text.lower())


def words(text: str, language: str) -> list[tuple[str, bool]]:
    """The words of a text, and for some scripts the parts of their runs; each with whether it comes from such a run.

    Chinese signs, Hangul and Hiragana are cut into overlapping pairs; Thai, Lao, Khmer and Burmese into overlapping runs of
    three. In Chinese each sign also counts by itself, because headlines use single signs for longer words. A run of Katakana
    stays whole.
    """
    if text.isascii():
        return [(word[:MAX_TOKEN_LENGTH], False) for word in _ASCII_WORD.findall(text)]
    found: list[tuple[str, bool]] = []
    for match in _WORD.finditer(_CONJUNCT_JOINERS.sub("", text)):
        run, kind = match.group(), match.lastgroup
        if kind is None or kind == "katakana":
            found.append((run[:MAX_TOKEN_LENGTH], kind is not None))
            continue
        found += [(part, True) for part in _runs(run, 3 if kind == "letters" else 2)]
        if kind == "signs" and language == SINGLE_SIGNS and len(run) > 1:
            found += [(sign, True) for sign in run]
    return found


def _runs(text: str, length: int) -> list[str]:
    """Its overlapping runs of so many characters; a shorter text is its own run."""
    return [text[start : start + length] for start in range(len(text) - length + 1)] or [text]


class _Term(NamedTuple):
    """What a word of a text is to a reader of its language."""

    token: str
    tells: bool
    """it is not a stop word"""
    marked: bool
    """it is written with a capital or a digit first, in a language where that marks names"""


class _Terms(dict[tuple[str, bool], tuple[_Term, ...]]):
    """The terms of the words that came before, each with whether it is a pair. Forgets all when there are many."""

    def __init__(self, language: str, *, stems: bool) -> None:
        super().__init__()
        self._language = language
        self._capitals = language not in WITHOUT_CAPITALS
        self._stop_words = stop_words(language)
        self._stem = stemmer(language) if stems else str
        self._parts = (
            partial(compounds.split, language=ALIASES.get(language, language)) if stems else lambda word: [word]
        )

    def __missing__(self, key: tuple[str, bool]) -> tuple[_Term, ...]:
        word, paired = key
        folded = fold(word, self._language).removesuffix("'s")
        marked = self._capitals and (word[0].isupper() or word[0].isdigit())
        if len(self) >= STEM_CACHE_SIZE:
            self.clear()
        terms = [_Term(folded, self._tells(folded, paired=True), marked=False)]
        if not paired:
            parts = self._parts(folded)
            terms = [_Term(self._stem(part), self._tells(part, paired=False), marked) for part in parts]
        self[key] = tuple(terms)
        return self[key]

    def _tells(self, folded: str, *, paired: bool) -> bool:
        return (
            folded not in self._stop_words
            and (len(folded) > 1 or folded.isdigit() or paired)
            and not _ONLY_HIRAGANA.fullmatch(folded)
        )


@lru_cache(maxsize=128)
def _terms(language: str, stems: bool) -> _Terms:
    return _Terms(language, stems=stems)


def tokenise(text: str, language: str, *, stems: bool = True) -> tuple[list[str], list[str]]:
    """The stems of the content words of `text`, in reading order, and those written with a capital or a digit first.

    A text of nothing but stop words ("Who is who?") keeps them: they are all it says. Without `stems`, the words themselves.
    """
    known = _terms(language, stems)
    terms = [term for word in words(text, language) for term in known[word]]
    content = [term for term in terms if term.tells] or terms
    return [term.token for term in content], list(dict.fromkeys([term.token for term in content if term.marked]))
