"""Word counts of a week of news, so that the first stories of a stream already know which words are common."""

import gzip
import json
from functools import cache
from importlib import resources
from typing import NamedTuple


class Background(NamedTuple):
    """How many of `headlines` headlines hold each token, in one language."""

    headlines: int
    holding: dict[str, int]


@cache
def background(language: str) -> Background:
    """The shipped counts of a language (ISO 639-1); empty where there are none: counts then come from the stream alone."""
    path = resources.files(__package__) / "counts" / f"{language}.json.gz"
    if not path.is_file():
        return Background(0, {})
    data = json.loads(gzip.decompress(path.read_bytes()))
    return Background(data["headlines"], data["holding"])
