"""Link: which alerts of different editions are about one happening.

Two alerts are compared by what their headlines can share across languages: countries, numbers, and rare words that
sound alike, which are mostly names. The score is logistic. Its weights were learned by `tests/links.py` on invented
headlines about invented events. A link says that two events are probably one happening; it never merges them.

The score is a function of two alerts and nothing else, so links do not depend on the order in which alerts come.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain
from operator import mul
from typing import NamedTuple

import regex

from pipeline.languages.background import background
from pipeline.languages.codes import language_of
from pipeline.languages.identify import countries_of
from pipeline.languages.places import places
from pipeline.languages.sounds import sounds
from pipeline.languages.words import fold, stop_words, tokenise, words
from pipeline.records import EventUpdate
from pipeline.stages.weights import probability

REACH = timedelta(days=1)
"""How far apart in stream time two linked alerts can be."""
LINK_AT = 0.75
"""The score from which they are linked."""
COMMON = 0.004
"""A word that more than this share of a language's headlines hold is too common to be a name."""
SHORTEST_NAME = 3
"""The fewest classes of consonants that a name has."""
MOST_HEADLINES, LONGEST_HEADLINE, MOST_WORDS = 50, 300, 60
"""Headlines of an alert, and characters and words of a headline, that are looked at."""
AT_HOME = 0.2
"""The share of headlines abroad that name a country from which its own newsrooms need not name it."""
LONGEST_HANGUL = 8
_HANGUL = regex.compile(r"\p{Hangul}{2,}")
_KATAKANA = regex.compile(r"[\p{Katakana}\u30fc]+")
_NUMBER = regex.compile(r"(?<![\p{L}\p{Nd}][-\u2010\u2011]?)\p{Nd}{1,12}(?:[.,]\p{Nd}{1,6})*(?![\p{Nd}])")
"""A number that is no part of a name, as those of COVID-19 and F-16 are."""
ROUND = frozenset(["10", "20", "24", "30", "100"])
"""Numbers that do not count, because they are too common; nor do numbers of one digit, and years."""
_LANGUAGE = regex.compile(r"[a-z]{2,3}")
_YEAR = regex.compile(r"(?:19|20)\d\d")

Shares = dict[str, float]
"""Things that headlines name, each with the share of the headlines that name it."""


class LinkWeights(NamedTuple):
    """Weights of the features of (alert, alert of another edition)."""

    bias: float
    places: float
    """of the sum, over the countries that both name, of the geometric mean of the country's two shares; 1 at most"""
    place: float
    """of whether both name the same country most often"""
    numbers: float
    """of ln(1 + 3 times the same sum over shared numbers, where a number with a point or comma counts 1.5 times)"""
    names: float
    """of ln(1 + the same sum over shared names, each times the number of its consonant classes less two)"""
    name: float
    """of ln(1 + the largest term of that sum)"""
    nothing: float
    """of whether neither a number nor a name is shared"""


WEIGHTS = LinkWeights(bias=-4.43, places=3.62, place=1.7, numbers=3.88, names=5.74, name=-0.56, nothing=-0.84)


class Profile(NamedTuple):
    """The places, numbers and names in the headlines of an alert, with their shares."""

    places: Shares
    numbers: Shares
    names: Shares


class Alert(NamedTuple):
    """An alert, as far as links need it."""

    event_id: str
    edition: str
    at: datetime
    """stream time of its edition"""
    profile: Profile


class Link(NamedTuple):
    """Two events of different editions that are probably one happening."""

    event_id: str
    other_id: str
    score: float
    """how probable that is"""
    places: list[str]
    """the countries that the alerts of both name, as codes of ISO 3166"""
    numbers: list[str]
    """the numbers that both name, with commas written as points"""


def alert_of(update: EventUpdate) -> Alert | None:
    """The part of an event's first update that links need; None if its edition is of no language."""
    language = language_of(update.edition)
    if not _LANGUAGE.fullmatch(language):
        return None
    return Alert(
        update.event_id, update.edition, update.at, profile([story.title for story in update.stories], language)
    )


def link(alert: Alert, other: Alert) -> Link | None:
    """The link of two alerts, if they are of different editions and probably about one happening.

    They must be about one country, and share a name or a number as well: many things happen in a country on one day.
    """
    if alert.edition == other.edition or abs(alert.at - other.at) > REACH:
        return None
    left, right = alert.profile, other.profile
    found = features(left, right)
    of_one_country = found.places or _is_home(alert, other) or _is_home(other, alert)
    score = _score(found)
    if found.nothing or not of_one_country or score < LINK_AT:
        return None
    return Link(
        alert.event_id,
        other.event_id,
        round(score, 3),
        [place for place in left.places if place in right.places],
        [number for number in left.numbers if number in right.numbers],
    )


def _is_home(alert: Alert, other: Alert) -> bool:
    """Whether the other alert names a country in which the edition of this one is at home, and need not be named."""
    home = countries_of(language_of(alert.edition))
    return any(share >= AT_HOME and place in home for place, share in other.profile.places.items())


def profile(titles: Sequence[str], language: str) -> Profile:
    """What headlines name that are in this language."""
    headlines = [title[:LONGEST_HEADLINE] for title in titles[:MOST_HEADLINES]]
    return Profile(
        _shares([places(headline, language) for headline in headlines]),
        _shares([_numbers(headline) for headline in headlines]),
        _shares([_names(headline, language) for headline in headlines]),
    )


def _shares(named: Sequence[Collection[str]]) -> Shares:
    return {thing: count / len(named) for thing, count in sorted(Counter(chain.from_iterable(named)).items())}


def link_score(left: Profile, right: Profile) -> float:
    """The probability that two alerts are about one happening."""
    return _score(features(left, right))


def _score(found: LinkWeights) -> float:
    return probability(math.fsum(map(mul, WEIGHTS, found)))


def features(left: Profile, right: Profile) -> LinkWeights:
    """The features of two alerts, in the order of their weights."""
    numbers = math.fsum(
        share * (1.5 if "." in number else 1.0) for number, share in _shared(left.numbers, right.numbers).items()
    )
    names = [share * max(0, len(name) - 2) for name, share in _shared(left.names, right.names).items()]
    return LinkWeights(
        1.0,
        min(1.0, math.fsum(_shared(left.places, right.places).values())),
        float(bool(left.places) and bool(right.places) and _most(left.places) == _most(right.places)),
        math.log1p(3.0 * numbers),
        math.log1p(math.fsum(names)),
        math.log1p(max(names, default=0.0)),
        float(not numbers and not any(names)),
    )


def _shared(left: Shares, right: Shares) -> Shares:
    return {thing: math.sqrt(share * right[thing]) for thing, share in left.items() if thing in right}


def _most(shares: Shares) -> str:
    return max(shares, key=lambda thing: (shares[thing], thing))


def _numbers(headline: str) -> set[str]:
    """The numbers of a headline that count, with commas written as points."""
    found = (
        "".join(str(unicodedata.decimal(sign, sign)) for sign in number).replace(",", ".")
        for number in _NUMBER.findall(headline)
    )
    return {number for number in found if len(number) > 1 and number not in ROUND and not _YEAR.fullmatch(number)}


def _names(headline: str, language: str) -> set[str]:
    """The sounds of the words of a headline that may be names: rare words that do not begin with a small letter."""
    candidates = [word for word, part in words(headline, language) if not part or _KATAKANA.fullmatch(word)]
    candidates += [
        run[:end] for run in _HANGUL.findall(headline) for end in range(2, min(len(run), LONGEST_HANGUL) + 1)
    ]
    return {_sound_of_name(word, language) for word in candidates[:MOST_WORDS]} - {""}


@lru_cache(maxsize=65_536)
def _sound_of_name(word: str, language: str) -> str:
    """The sound of a word that may be a name; empty if it is none."""
    known = background(language)
    if (
        word[0].islower()
        or any(sign.isdigit() for sign in word)
        or fold(word, language) in stop_words(language)
        or places(word, language)
        or any(known.holding.get(token, 0) > COMMON * known.headlines for token in tokenise(word, language)[0])
    ):
        return ""
    sound = sounds(word)
    return sound if len(sound) >= SHORTEST_NAME else ""
