"""Rules of single editions: what the file sets holds for its edition, and what is wrong in it is named."""

import pytest

from pipeline.stages.edition_rules import InvalidRules, parse_rules, rule_of
from pipeline.stages.rules import DetectRule
from pipeline.times import HOUR


def test_an_edition_has_what_the_file_sets_and_else_what_all_have():
    of = rule_of(DetectRule(), parse_rules("[is]\nthreshold = 5\nwindow_hours = 6\n[en]\nemerging_threshold = 8\n"))
    assert of("de") == DetectRule()
    assert of("is") == DetectRule(threshold=5, window=6 * HOUR)
    assert of("en") == DetectRule(emerging_threshold=8)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[is", "not TOML"),
        ("[is]\nthreshhold = 5", "threshhold"),
        ("[is]\nthreshold = 0", r">= 1.*\$\[\.\.\.\]\.threshold|threshold"),
        ("[is]\nthreshold = 'five'", "threshold"),
        ("[icelandic]\nthreshold = 5", r"\[icelandic\] is no edition"),
        ("[pt-BR]\nthreshold = 5", r"\[pt-BR\] is no edition"),
        ("threshold = 5", "Expected `object`"),
    ],
)
def test_what_is_wrong_is_named(text, reason):
    with pytest.raises(InvalidRules, match=reason):
        parse_rules(text)
