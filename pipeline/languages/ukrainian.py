"""Stems of Ukrainian, for which Snowball has no algorithm: words without their endings.

A light stemmer, as Savoy describes them ("Light stemming approaches for the French, Portuguese, German and Hungarian languages",
2006): it cuts the endings of cases, numbers, persons and tenses, the longest that fits, and leaves derivation alone.
"""

import regex

MIN_STEM = 3
"""The fewest letters that are left of a word when an ending is cut off."""

_REFLEXIVE = regex.compile(r"(?<=..)(?:ся|сь)$")
_ENDING = regex.compile(
    "(?:"
    "ого|ому|ими|ої|ою|ій|ий|им|их|ім|іх|"  # adjectives
    "ами|ями|еві|ові|єві|ах|ях|ам|ям|ею|єю|ів|їв|ей|ом|ем|єм|"  # nouns
    "увати|ювати|ували|ював|ував|увала|ювала|ували|ювали|ють|уть|ать|ять|ить|їть|ають|яють|"  # verbs
    "али|яли|или|іли|ули|ала|яла|ила|іла|ула|ало|яло|ило|іло|уло|ати|яти|ити|іти|ути|ав|яв|ив|ув|емо|имо|ете|ите|ено|єно|ено|ає|яє|ує|ює|"
    "[аеиіоуюяєїьй]"
    ")$"
)


def stem(word: str) -> str:
    """The stem of a word in small letters; words of few letters stay as they are."""
    word = _REFLEXIVE.sub("", word)
    for match in _ENDING.finditer(word, overlapped=True):
        if match.start() >= MIN_STEM:
            return word[: match.start()]
    return word
