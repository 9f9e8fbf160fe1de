"""Records for tests, with only what matters to the test spelled out."""

import math
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from pipeline.records import Assignment, Fingerprint, NormalisedStory
from pipeline.similarity.tfidf import UNIT
from pipeline.stages.fingerprint import fingerprint

LONGEST = 40
"""Stories of a stream that hypothesis draws."""


def long_and_short(elements):
    """Lists of these: hypothesis alone would make most of them so short that nothing dies in them."""
    return st.lists(elements, max_size=LONGEST) | st.lists(elements, min_size=LONGEST * 3 // 4, max_size=LONGEST)


def unit_vector(raw):
    """These weights scaled to length UNIT and rounded; none is less than 1."""
    length = math.hypot(*raw.values())
    return {token: max(1, int(UNIT * weight / length + 0.5)) for token, weight in raw.items()}


NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def story(story_id, tokens="quake city", minutes=0.0, publisher=None, edition="en", body=None, *, retracted=False):
    words = tokens.split()
    return NormalisedStory(
        id=story_id,
        edition=edition,
        url=f"https://news.example/{story_id}",
        title=tokens.capitalize(),
        publisher=publisher or f"Paper {story_id}",
        family=publisher or f"paper {story_id}",
        language=edition,
        crawled_at=NOON + timedelta(minutes=minutes),
        received_at=NOON + timedelta(minutes=max(0.0, minutes)),
        tokens=words,
        marked=words[:1],
        lead=body.lower().split()[:30] if body else [],
        body=body,
        retracted=retracted,
    )


def fingerprinted(*args, **kwargs) -> Fingerprint:
    return fingerprint(story(*args, **kwargs))


def revision(position, cluster_id, *args, **kwargs) -> Assignment:
    return Assignment(
        story=story(*args, **kwargs),
        simhash="0" * 16,
        position=position,
        cluster_id=cluster_id,
        merged=[],
        weights={},
        similar=[],
        revision=True,
    )


def assignment(position, cluster_id, *args, merged=(), duplicate_of=None, **kwargs) -> Assignment:
    made = story(*args, **kwargs)
    return Assignment(
        story=made,
        simhash="0" * 16,
        position=position,
        cluster_id=cluster_id,
        merged=list(merged),
        weights=unit_vector(dict.fromkeys(made.tokens, 1.0)),
        similar=[],
        duplicate_of=duplicate_of,
    )


def uncompiled(patch, *modules):
    """Have Python run the kernels of these modules, on handles that are plain classes."""
    for module in modules:
        for name, value in list(vars(module).items()):
            plain = (
                getattr(value, "py_func", None) or vars(value).get("__wrapped__")
                if hasattr(value, "__dict__")
                else None
            )
            if plain is not None and name != "cache":
                patch.setattr(module, name, plain)
