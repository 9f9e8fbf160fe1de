"""Editions: a story is in the edition of its language, or in the part of it that a field says."""

from datetime import UTC, datetime

import pytest

from pipeline.records import Story
from pipeline.replay import fingerprints, replay
from pipeline.stages.editions import edition_of
from pipeline.stages.rules import NormaliseRule, Split
from tests import sample

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
BY_DESK = NormaliseRule(
    splits={"en": Split("desk", {"sport": "sport", "football": "sport", "7": "seven", "true": "yes"})}
)
BY_COUNTRY = NormaliseRule(splits={"en": Split("language", {"en-gb": "gb"})})


def story(**fields):
    return Story(url="https://example.com/a", title="Ferry sinks", publisher="Paper", crawled_at=NOON, **fields)


@pytest.mark.parametrize(
    ("desk", "edition"),
    [
        ("sport", "en-sport"),
        (" Football ", "en-sport"),
        (["culture", "FOOTBALL"], "en-sport"),
        (7, "en-seven"),
        ("culture", "en"),
        ("", "en"),
        (None, "en"),
        (True, "en-yes"),
        ("Sport".translate({83: 0xFF33}), "en-sport"),
        ({"sport": 1}, "en"),
        ([["sport"]], "en"),
        ([], "en"),
        (1.0, "en"),
    ],
)
def test_the_value_of_the_field_decides_and_what_is_not_listed_stays(desk, edition):
    assert edition_of(story(extra={"desk": desk}), "en", BY_DESK) == edition


def test_a_story_without_the_field_stays_and_other_languages_are_whole():
    assert edition_of(story(), "en-gb", BY_DESK) == "en"
    assert edition_of(story(extra={"desk": "sport"}), "de", BY_DESK) == "de"


def test_the_language_tag_can_be_the_field():
    assert edition_of(story(), "en-gb", BY_COUNTRY) == "en-gb"
    assert edition_of(story(), "en-us", BY_COUNTRY) == "en"


def test_a_part_is_clustered_as_if_there_were_nothing_else():
    stories = [
        Story(**{name: getattr(one, name) for name in Story.__struct_fields__} | {"extra": {"desk": desk}})
        for one, desk in zip(sample.stories()[:300], ["sport", "world", "football"] * 100, strict=True)
    ]
    log = list(fingerprints(stories, sample.RECEIVED, BY_DESK))
    alone = [(position, record) for position, record in log if record.story.edition == "en-sport"]
    assert len(alone) == 200
    together = [step for step in replay(log) if step.assignment.story.edition == "en-sport"]
    assert list(replay(alone)) == together
    assert sum(bool(step.assignment.similar) for step in together) > 10
