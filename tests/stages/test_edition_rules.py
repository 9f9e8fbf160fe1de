"""Rules of single editions: what the file sets holds for its edition, and what is wrong in it is named."""

import pytest

from pipeline.stages.edition_rules import InvalidRules, described, parse_rules, rule_of, splits_of
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


def test_rules_that_mean_the_same_are_described_alike():
    same = """
        ["en-sport"]
        threshold = 30
        [is]
        [en]
        window_hours = 2.0
        threshold = 20
        split_by = "section"
        [en.parts]
        world = ["WORLD", "world"]
        sport = ["football", "sport"]
    """
    assert described(parse_rules(same)) == described(parse_rules(SPLIT))
    assert described(parse_rules(SPLIT.replace("FOOTBALL", "Tennis"))) != described(parse_rules(SPLIT))
    assert list(described(parse_rules(SPLIT))) == ["en", "en-sport"]


def test_values_of_the_language_are_tags_however_they_are_written():
    rules = parse_rules('[en]\nsplit_by = "language"\n[en.parts]\ngb = ["en_GB", "eng-ie"]')
    assert splits_of(rules)["en"].parts == {"en-gb": "gb", "en-ie": "gb"}


PARTS = '[en]\nsplit_by = "desk"\n[en.parts]\n'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[is", "not TOML"),
        (f"a = {'[' * 3_000}", "nested too deeply"),
        ("[is]\nthreshhold = 5", r"\[is\] threshhold is no rule; did you mean threshold?"),
        ("[is]\nthreshold = 0", r"\[is\] threshold = 0: Expected `int` >= 1"),
        ("[is]\nthreshold = 99999999999", "threshold = 99999999999: Expected `int` <= 1000000"),
        ("[is]\nthreshold = 'five'", r"\[is\] threshold = 'five': Expected `int`, got `str`"),
        ("[icelandic]\nthreshold = 5", r"\[icelandic\] is no edition"),
        ("[pt-BR]\nthreshold = 5", r"\[pt-BR\] is no edition: .* that \[pt.parts\] lists"),
        ("[en-]\nthreshold = 5", r"\[en-\] is no edition"),
        ("[eng]\nthreshold = 5", r"\[eng\]: write \[en\]"),
        ("threshold = 5", "threshold stands outside of a table"),
        ('["e\\n"]', r"\[e\\n\] is no edition"),
        ('[en]\nsplit_by = "desk"', r"\[en\] needs both `split_by` and a table \[en.parts\]"),
        ('[en.parts]\nsport = ["Sport"]', "needs both"),
        ('[en]\nsplit_by = "title"\n[en.parts]\na = ["A"]', "split_by = 'title'"),
        ('[en]\nsplit_by = " desk"\n[en.parts]\na = ["A"]', "without spaces around it"),
        ('[en]\nsplit_by = "desk"\nparts = 3', r"parts = 3: it should be a table"),
        (PARTS + 'Sport = ["Sport"]', r"\[en.parts\] Sport: name a part by"),
        (PARTS + '"sport\\n" = ["Sport"]', r"\[en.parts\] sport\\n: name a part by"),
        (PARTS + "sport = []", r"\[en.parts\] sport = \[\]: list the values"),
        (PARTS + 'sport = "Sport"', r"\[en.parts\] sport = 'Sport': list the values"),
        (PARTS + 'sport = ["  "]', "the value '  ' is empty"),
        (PARTS + 'a = ["X"]\nb = [" x"]', "' x' is a value of both a and b"),
        (PARTS + 'a = ["caf\u00e9"]\nb = ["cafe\u0301"]', "is a value of both a and b"),
        (PARTS + 'a = ["X"]\n[en-a]\nsplit_by = "d"\n[en-a.parts]\nb = ["Y"]', "part already"),
        ('[en]\nsplit_by = "language"\n[en.parts]\ngb = ["GB"]', "'GB' is no language tag of en, such as en-GB"),
        ('[en]\nsplit_by = "language"\n[en.parts]\nde = ["de-DE"]', "'de-DE' is no language tag of en"),
    ],
)
def test_what_is_wrong_is_named(text, reason):
    with pytest.raises(InvalidRules, match=reason):
        parse_rules(text)
