"""Which language a text is in: by its script where that is enough, else by py3langid (Lui and Baldwin's langid.py).

A headline is short, so the probability is spread over related languages, and some of these have few newspapers. Only languages
in SCRIPTS are considered; the answer is the most probable of them, however low its probability is. If the host of the story
belongs to a country, that country's languages count as more probable. No network is needed: the model comes with the package.
"""

from collections import Counter
from functools import cache
from typing import NamedTuple

import regex
from py3langid.langid import MODEL_FILE, LanguageIdentifier

MAX_CHARACTERS = 1_000
"""Characters that are looked at."""
PRIOR = 5.0
"""How many times as probable a language becomes if it is one of the country whose code the host name ends in."""
MIN_KANA = 0.05
"""The share of kana among Chinese signs and kana from which a text is Japanese: names in Chinese headlines can hold one kana."""


class Script(NamedTuple):
    """A script, and the languages that are written in it."""

    letters: str
    """as a regular expression"""
    languages: tuple[str, ...]


SCRIPTS = (
    Script(
        r"\p{Latin}",
        (
            *(
                "az",
                "ca",
                "cs",
                "da",
                "de",
                "en",
                "es",
                "et",
                "fi",
                "fr",
                "hr",
                "hu",
                "id",
                "is",
                "it",
                "lt",
                "lv",
                "ms",
            ),
            *("nl", "no", "pl", "pt", "ro", "sk", "sl", "sq", "sv", "sw", "tl", "tr", "vi"),
        ),
    ),
    Script(r"\p{Cyrillic}", ("be", "bg", "kk", "mk", "mn", "ru", "sr", "uk")),
    Script(r"\p{Arabic}", ("ar", "fa", "ps", "ur")),
    Script(r"\p{Han}", ("zh", "ja")),
    Script(r"[\p{Hiragana}\p{Katakana}]", ("ja",)),
    Script(r"\p{Hangul}", ("ko",)),
    Script(r"\p{Devanagari}", ("hi", "mr", "ne")),
    Script(r"\p{Bengali}", ("bn",)),
    Script(r"\p{Tamil}", ("ta",)),
    Script(r"\p{Telugu}", ("te",)),
    Script(r"\p{Malayalam}", ("ml",)),
    Script(r"\p{Kannada}", ("kn",)),
    Script(r"\p{Gujarati}", ("gu",)),
    Script(r"\p{Gurmukhi}", ("pa",)),
    Script(r"\p{Oriya}", ("or",)),
    Script(r"\p{Sinhala}", ("si",)),
    Script(r"\p{Thai}", ("th",)),
    Script(r"\p{Lao}", ("lo",)),
    Script(r"\p{Khmer}", ("km",)),
    Script(r"\p{Myanmar}", ("my",)),
    Script(r"\p{Greek}", ("el",)),
    Script(r"\p{Hebrew}", ("he",)),
    Script(r"\p{Armenian}", ("hy",)),
    Script(r"\p{Georgian}", ("ka",)),
    Script(r"\p{Ethiopic}", ("am",)),
)
_HAN, _KANA = (
    next(script for script in SCRIPTS if script.languages == languages) for languages in (("zh", "ja"), ("ja",))
)
_LETTER = regex.compile("|".join(f"({script.letters})" for script in SCRIPTS))

COMMON = {"en": 4.0, "es": 2.0, "hi": 3.0, "id": 3.0, "ru": 3.0}
"""How many times as many newspapers there are in these languages as in any other language of their script, roughly."""
FOREIGN_LETTER = 0.1
"""What the probability of a language is multiplied by for each letter of the text that the language is written without."""
WITHOUT = {
    "bg": "ыэёіїєґўђћљњџјѕ",
    "mk": "ыэёъьюяйщіїєґўђћ",
    "ru": "іїєґўђћљњџјѕ",
    "sr": "ыэёъьюяйщіїєґўѕ",
    "uk": "ыэёъўђћљњџјѕ",
    "zh": "円駅広売図気対発検価変転鉄撃県沢桜塩歳毎雑関戦労験単伝帰焼渋収拡黒齢亜悪圧囲隠栄営応仮絵覚楽観"
    "拠継険圏権顕鉱砕済剤児実釈従処奨証浄畳嬢譲瀬斉摂専銭捜挿続択弾遅鋳庁聴",
}
"""Letters that a language is written without: those of its neighbours; of Chinese, signs as only Japan has simplified them."""

OF_COUNTRY = {
    "ar": "es", "at": "de", "au": "en", "be": "nl fr", "bg": "bg", "bo": "es", "br": "pt", "by": "ru be", "ca": "en fr",
    "cat": "ca", "ch": "de fr it", "cl": "es", "cn": "zh", "co": "es", "cr": "es", "cu": "es", "cz": "cs", "de": "de",
    "dk": "da", "do": "es", "ec": "es", "ee": "et", "eg": "ar", "es": "es", "fi": "fi", "fr": "fr", "gr": "el", "gt": "es",
    "hk": "zh", "hr": "hr", "hu": "hu", "id": "id", "ie": "en", "il": "he", "in": "en hi", "ir": "fa", "is": "is", "it": "it",
    "jo": "ar", "jp": "ja", "ke": "en sw", "kr": "ko", "kz": "ru kk", "lb": "ar", "lt": "lt", "lu": "fr de", "lv": "lv",
    "ma": "ar fr", "mk": "mk", "mn": "mn", "mx": "es", "my": "ms", "ng": "en", "nl": "nl", "no": "no", "np": "ne", "nz": "en",
    "pe": "es", "ph": "en tl", "pk": "ur en", "pl": "pl", "pt": "pt", "py": "es", "qa": "ar", "ro": "ro", "rs": "sr hr",
    "ru": "ru", "sa": "ar", "se": "sv", "sg": "en", "si": "sl", "sk": "sk", "sv": "es", "th": "th", "tr": "tr", "tw": "zh",
    "tz": "sw", "ua": "uk", "uk": "en", "us": "en", "uy": "es", "ve": "es", "vn": "vi", "za": "en",
}  # fmt: skip
"""The languages of newspapers, by the last part of a host's name."""


@cache
def countries_of(language: str) -> frozenset[str]:
    """The countries (ISO 3166) that have newspapers in a language."""
    return frozenset(
        "GB" if country == "uk" else country.upper()
        for country, languages in OF_COUNTRY.items()
        if language in languages.split()
    )


@cache
def _identifier() -> LanguageIdentifier:
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known = set(identifier.labels)
    identifier.set_languages([language for script in SCRIPTS for language in script.languages if language in known])
    return identifier


def identify(text: str, host: str = "") -> str | None:
    """The ISO 639-1 code of the language of `text`, which is at a web address of `host`; None where it has no letters."""
    text = text[:MAX_CHARACTERS]
    script = _script(text)
    if script is None:
        return None
    if len(script.languages) == 1:
        return script.languages[0]
    usual = OF_COUNTRY.get(host.rpartition(".")[2], "").split()
    best, most = script.languages[0], -1.0
    small = text.lower()
    for language, probability in _identifier().rank(text):
        if language in script.languages:
            foreign = sum(map(small.count, WITHOUT.get(language, "")))
            prior = COMMON.get(language, 1.0) * (PRIOR if language in usual else 1.0)
            likely = probability * prior * FOREIGN_LETTER**foreign
            if likely > most:
                best, most = language, likely
    return best


def _script(text: str) -> Script | None:
    """The script of most letters; Japanese is that of kana, beside Chinese signs."""
    if text.isascii():
        return SCRIPTS[0] if any(map(str.isalpha, text)) else None
    counts = Counter(match.lastindex for match in _LETTER.finditer(text))
    if not counts:
        return None
    found = {SCRIPTS[index - 1]: count for index, count in counts.items() if index}
    han, kana = found.get(_HAN, 0), found.get(_KANA, 0)
    if kana and kana >= MIN_KANA * (han + kana):
        found[_KANA] = han + kana
    return max(found, key=lambda script: found[script])
