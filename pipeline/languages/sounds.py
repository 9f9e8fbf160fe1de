"""Sounds: a word as classes of consonants, so that a name gives the same classes in different scripts.

"Arequipa", "Арекипа", "アレキパ" and "أريكيبا" are all RKP. The idea is that of Soundex (Russell, US patent 1,261,167,
1918). Vowels do not count at all, since Arabic leaves many of them out, and l and r are one class, since Japanese does
not tell them apart.
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
