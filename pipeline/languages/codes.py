"""Language codes: which there are, and which mean the same.

`codes.json` lists the codes of ISO 639-1, each with its codes in ISO 639-2 and those it replaced, as java.util.Locale has them.
"""

import json
from functools import cache, lru_cache
from importlib import resources


@cache
def _codes() -> dict[str, str]:
    """By every code that is known, the one that is used here."""
    data = json.loads((resources.files(__package__) / "codes.json").read_text(encoding="utf-8"))
    return {name: code for code, names in data.items() for name in (code, *names)}


def language_of(edition: str) -> str:
    """The language of an edition: `en` of `en`, and of its part `en-sport`."""
    return edition.partition("-")[0]


@lru_cache(maxsize=1_000)
def known_tag(tag: str) -> str | None:
    """A language tag (BCP 47) in small letters, its language as a code of ISO 639-1; None where that is none that is known."""
    language, *rest = tag.lower().replace("_", "-").split("-")
    code = _codes().get(language)
    return code and "-".join([code, *rest])
