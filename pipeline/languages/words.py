"""Stop words and stems of each language.

Stems are Snowball's (PyStemmer). The stop lists in `stop_words/` name their origin in their first lines.
"""

from collections.abc import Callable
from functools import cache
from importlib import resources

import Stemmer

SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish",
    "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian",
    "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""ISO 639-1 code to the name of its Snowball stemmer."""


@cache
def stop_words(language: str) -> frozenset[str]:
    """The words of `language` (ISO 639-1) that say nothing about what a text is about; empty where there is no list."""
    path = resources.files(__package__) / "stop_words" / f"{language}.txt"
    if not path.is_file():
        return frozenset()
    lines = path.read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


@cache
def stemmer(language: str) -> Callable[[str], str]:
    """A function from a lower-case word of `language` to its stem; words stay as they are where there is no stemmer."""
    if language not in SNOWBALL:
        return str
    stem: Callable[[str], str] = Stemmer.Stemmer(SNOWBALL[language]).stemWord
    return stem
