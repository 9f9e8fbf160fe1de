"""Shingles: the runs of `width` characters or words of a text (Broder 1997), and how similar two texts are by them.

The Jaccard similarity of two texts is the number of shingles that they share, over the number of all that they have.
"""

from collections.abc import Set as AbstractSet
from typing import Literal

Unit = Literal["characters", "words"]
"""What a shingle is a run of."""
SHORT, LONG = 5, 9
"""Characters of a shingle of short texts, and of long ones (Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, 3.2)."""
LONG_TEXT = 500
"""Characters from which a text counts as long."""
WORDS = 3
"""Words of a shingle, unless somebody says otherwise."""


def shingles(text: str, width: int = SHORT, unit: Unit = "characters") -> set[str]:
    """The set of a text's runs of `width` characters or words. Words are parted by one space.

    A shorter text is its own run; an empty one has none.

    >>> sorted(shingles("abcab", 3))
    ['abc', 'bca', 'cab']
    >>> sorted(shingles("to be or not", 2, "words"))
    ['be or', 'or not', 'to be']
    """
    if not text:
        return set()
    if unit == "characters":
        return {text[start : start + width] for start in range(max(1, len(text) - width + 1))}
    words = text.split(" ")
    return {" ".join(words[start : start + width]) for start in range(max(1, len(words) - width + 1))}


def jaccard(left: AbstractSet[str], right: AbstractSet[str]) -> float:
    """The Jaccard similarity of two sets; 0 if both are empty.

    >>> jaccard({"a", "b", "c"}, {"b", "c", "d"})
    0.5
    """
    common = len(left & right)
    every = len(left) + len(right) - common
    return common / every if every else 0.0
