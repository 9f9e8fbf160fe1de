"""What is known of a language before the first story: which words are common, and whether capitals mark names.

The counts of English are those of a week of headlines; the others are word frequencies of the language at large, as if of a few
headlines (`scripts/word-counts`). Each file names its origin and licence.
"""

import gzip
import json
from functools import cache
from importlib import resources
from typing import NamedTuple

WEEK = 5_000
"""Headlines of a week: fewer are word frequencies of the language at large."""


class Background(NamedTuple):
    """How many of `headlines` headlines hold each token, in one language."""

    headlines: int
    holding: dict[str, int]
    capitals: bool = True
    """whether names are written with a capital, and other words are not"""
    signs: bool = False
    """whether single signs count as words (see `words`)"""

    @property
    def weak(self) -> bool:
        """Whether the counts are not of real headlines, or there are none."""
        return self.headlines < WEEK


ALIASES = {"nn": "nb", "no": "nb"}
"""Codes of languages whose counts and stop words stand under another."""
SINGLE_SIGNS = "zh"
"""The language whose headlines use single signs for longer words, so that each counts as a word, too."""
WITHOUT_CAPITALS = frozenset(
    "am ar bn de fa gu he hi ja ka km kn ko lo ml mr my ne or pa ps si ta te th ur yi zh".split()  # noqa: SIM905 - one line
)
"""Languages whose capitals do not mark names: those in scripts without capitals, and German, where every noun has one."""


@cache
def background(language: str) -> Background:
    """The shipped counts of a language (ISO 639-1); empty where there are none: counts then come from the stream alone."""
    capitals = language not in WITHOUT_CAPITALS
    signs = language == SINGLE_SIGNS
    path = resources.files(__package__) / "counts" / f"{ALIASES.get(language, language)}.json.gz"
    if not path.is_file():
        return Background(0, {}, capitals, signs)
    data = json.loads(gzip.decompress(path.read_bytes()))
    return Background(data["headlines"], data["holding"], capitals, signs)
