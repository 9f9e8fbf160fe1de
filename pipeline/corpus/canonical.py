"""The text of a document as it is compared."""

import re
from unicodedata import normalize

import regex

from pipeline.similarity.shingles import Unit

_ASCII_WORD = re.compile(r"\w+")
_WORD = regex.compile(r"[\w\p{M}\u200c\u200d]+")
"""Letters, digits, underscores, and the marks and joiners without which many scripts are not written right."""


def canonical(text: str, unit: Unit = "characters") -> str:
    """A text without case, in Unicode's form NFKC, and with one space where there is white space.

    Of words, nothing but letters with their marks, digits and underscores is left.
    """
    if text.isascii():
        text = text.lower()
        return " ".join(_ASCII_WORD.findall(text) if unit == "words" else text.split())
    text = normalize("NFKC", text).casefold()
    return " ".join(_WORD.findall(text) if unit == "words" else text.split())
