"""The text of a document as it is compared."""

import re
from unicodedata import normalize

from pipeline.similarity.shingles import Unit

_WORD = re.compile(r"\w+")


def canonical(text: str, unit: Unit = "characters") -> str:
    """A text without case, in Unicode's form NFKC, and with one space where there is white space.

    Of words, nothing but letters, digits and underscores is left.
    """
    if not text.isascii():
        text = normalize("NFKC", text)
    text = text.casefold()
    return " ".join(_WORD.findall(text) if unit == "words" else text.split())
