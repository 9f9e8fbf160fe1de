"""Sounds: a word as classes of consonants, so that a name is the same in all scripts that spell it.

"Arequipa", "Арекипа", "アレキパ" and "أريكيبا" are all RKP. The idea is that of Soundex (Russell, US patent 1,261,167, 1918),
without vowels, many of which Arabic does not write, and with one class for consonants that Japanese does not tell apart.
"""

import re
from functools import lru_cache

from anyascii import anyascii

CLASSES = {"P": "bp", "V": "fvw", "K": "cgkqx", "S": "jsz", "T": "dt", "R": "lr", "M": "m", "N": "n"}
_CLASS = {letter: sound for sound, letters in CLASSES.items() for letter in letters}
_CLUSTERS = (
    (re.compile("ph"), "f"),
    (re.compile("t?sch|tch|ch|sh|t[sz]|dzh?|zh|c(?=[eiy])"), "s"),
    (re.compile("[kg]h"), "k"),
)


@lru_cache(maxsize=65_536)
def sounds(word: str) -> str:
    """The consonant classes of a word in any script, in order, no class twice in a row; empty if it has none."""
    latin = anyascii(word).lower()
    for cluster, letter in _CLUSTERS:
        latin = cluster.sub(letter, latin)
    classes = ""
    for letter in latin:
        sound = _CLASS.get(letter, "")
        if not classes.endswith(sound) or not classes:
            classes += sound
    return classes
