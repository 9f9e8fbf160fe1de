"""Rules of single editions: what the file sets holds for its edition, and what is wrong in it is named."""

import pytest

from pipeline.stages.edition_rules import InvalidRules, parse_rules, rule_of, splits_of
from pipeline.stages.rules import DetectRule, Split
from pipeline.times import HOUR


def test_an_edition_has_what_the_file_sets_and_else_what_all_have():
    of = rule_of(DetectRule(), parse_rules("[is]\nthreshold = 5\nwindow_hours = 6\n[en]\nemerging_threshold = 8\n"))
    assert of("de") == DetectRule()
    assert of("is") == DetectRule(threshold=5, window=6 * HOUR)
    assert of("en") == DetectRule(emerging_threshold=8)


SPLIT = """
[en]
split_by = "section"
threshold = 20
window_hours = 2
[en.parts]
sport = ["Sport", " FOOTBALL "]
world = ["world"]
[en-sport]
threshold = 30
"""


def test_a_part_has_the_rules_of_its_language_but_for_its_own():
    of = rule_of(DetectRule(), parse_rules(SPLIT))
    assert of("en") == of("en-world") == DetectRule(threshold=20, window=2 * HOUR)
    assert of("en-sport") == DetectRule(threshold=30, window=2 * HOUR)
    assert of("de") == of("de-sport") == DetectRule()


def test_a_language_is_split_by_the_values_that_are_listed():
    parts = {"sport": "sport", "football": "sport", "world": "world"}
    assert splits_of(parse_rules(SPLIT)) == {"en": Split("section", parts)}
    assert splits_of(parse_rules("[en]\nthreshold = 3")) == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[is", "not TOML"),
        ("[is]\nthreshhold = 5", "threshhold"),
        ("[is]\nthreshold = 0", r">= 1.*\$\[\.\.\.\]\.threshold|threshold"),
        ("[is]\nthreshold = 'five'", "threshold"),
        ("[icelandic]\nthreshold = 5", r"\[icelandic\] is no edition"),
        ("[pt-BR]\nthreshold = 5", r"\[pt-BR\] is no edition: \[pt.parts\] has no part 'BR'"),
        ("[eng]\nthreshold = 5", r"\[eng\] is no edition"),
        ('[en]\nsplit_by = "desk"', r"\[en\] needs both `split_by` and a table \[en.parts\]"),
        ('[en.parts]\nsport = ["Sport"]', "needs both"),
        ('[en]\nsplit_by = "title"\n[en.parts]\na = ["A"]', "split_by = 'title'"),
        ('[en]\nsplit_by = "desk"\n[en.parts]\nSport = ["Sport"]', "parts"),
        ('[en]\nsplit_by = "desk"\n[en.parts]\nsport = []', "length >= 1"),
        ('[en]\nsplit_by = "desk"\n[en.parts]\na = ["X"]\nb = [" x"]', "'x'|' x' is a value of both a and b"),
        (
            '[en]\nsplit_by = "d"\n[en.parts]\na = ["X"]\n[en-a]\nsplit_by = "d"\n[en-a.parts]\nb = ["Y"]',
            "part already",
        ),
        ("threshold = 5", "Expected `object`"),
    ],
)
def test_what_is_wrong_is_named(text, reason):
    with pytest.raises(InvalidRules, match=reason):
        parse_rules(text)
