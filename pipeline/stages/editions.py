"""Editions: the streams in which stories are compared with each other. A language is one, or is split into several.

A language that is too much for one worker is split by a field of its stories. Each of its parts is an edition of its own, named
`en-sport`; stories whose field has none of the values that are listed stay in the edition `en`. So there are as many editions
as the rule lists, whatever producers send.
"""

from collections.abc import Iterator
from unicodedata import normalize

from pipeline.languages.codes import language_of
from pipeline.records import Story
from pipeline.stages.rules import NormaliseRule

LANGUAGE = "language"
"""The field that is the language tag: by `en-GB` and `en-US`, English is split by country."""


def edition_of(story: Story, tag: str, rule: NormaliseRule) -> str:
    """The edition of a story with this language tag."""
    language = language_of(tag)
    split = rule.splits.get(language)
    if split is None:
        return language
    value = tag if split.field == LANGUAGE else story.extra.get(split.field)
    part = next((split.parts[text] for text in _texts(value) if text in split.parts), None)
    return language if part is None else f"{language}-{part}"


def folded(value: str) -> str:
    """A value as it is compared: without regard to case, to spaces around it, and to how signs are put together (NFKC)."""
    return " ".join(normalize("NFKC", value).casefold().split())


def _texts(value: object) -> Iterator[str]:
    """The values of a field: texts, whole numbers, true and false; of a list, each of them."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str):
            yield folded(one)
        elif isinstance(one, int):
            yield str(one).casefold()
