"""Rules by edition: a small language may never see fifteen stories on one event, and a large one may be too much for a worker.

A file in TOML, with a table for each edition; what a table does not set is as for all others, and in a part as in its language:

    [is]
    threshold = 5
    min_publishers = 3

    [en]
    split_by = "section"

    [en.parts]
    sport = ["Sport", "Football"]

    [en-sport]
    threshold = 25
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Annotated

import msgspec
from msgspec import Meta

from pipeline.languages.codes import known_tag, language_of
from pipeline.records import Story
from pipeline.stages.editions import LANGUAGE, folded
from pipeline.stages.rules import DetectRule, Split
from pipeline.times import HOUR

RuleOf = Callable[[str], DetectRule]
"""The rule of each edition."""
Count = Annotated[int, Meta(ge=1)]
Hours = Annotated[float, Meta(ge=1 / 60, le=24 * 365)]
PartName = Annotated[str, Meta(pattern="^[a-z0-9]{1,32}$")]
Value = Annotated[str, Meta(min_length=1)]


class InvalidRules(ValueError):
    """A file of rules that is none; the message says what is wrong."""


class EditionRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be set for an edition."""

    threshold: Count | None = None
    window_hours: Hours | None = None
    min_publishers: Count | None = None
    emerging_threshold: Annotated[int, Meta(ge=0)] | None = None
    emerging_hours: Hours | None = None
    emerging_publishers: Count | None = None
    split_by: Annotated[str, Meta(min_length=1)] | None = None
    parts: dict[PartName, Annotated[list[Value], Meta(min_length=1)]] = {}


def parse_rules(text: str) -> dict[str, EditionRule]:
    """The rules that a file in TOML sets, by edition. Raises InvalidRules."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidRules(f"not TOML: {error}.") from None
    rules: dict[str, EditionRule] = {}
    for edition, table in tables.items():
        try:
            rules[edition] = msgspec.convert(table, EditionRule)
        except msgspec.ValidationError as error:
            raise InvalidRules(f"[{edition}]: {error}.") from None
    for edition, rule in rules.items():
        _check_name(edition, rules)
        _check_split(edition, rule)
    return rules


def splits_of(rules: Mapping[str, EditionRule]) -> dict[str, Split]:
    """The languages that are split, and how."""
    return {
        edition: Split(rule.split_by, {folded(value): part for part, values in rule.parts.items() for value in values})
        for edition, rule in rules.items()
        if rule.split_by is not None
    }


def rule_of(rule: DetectRule, rules: Mapping[str, EditionRule]) -> RuleOf:
    """The rule of each edition, which is `rule` but for what `rules` sets for its language and for itself."""

    def of(edition: str) -> DetectRule:
        named = dict.fromkeys((language_of(edition), edition))
        return reduce(_changed, (rules[name] for name in named if name in rules), rule)

    return of


def _check_name(edition: str, rules: Mapping[str, EditionRule]) -> None:
    language, _, part = edition.partition("-")
    if known_tag(language) != language:
        raise InvalidRules(f"[{edition}] is no edition: name it by its language, such as [pt].")
    if part and (language not in rules or part not in rules[language].parts):
        raise InvalidRules(f"[{edition}] is no edition: [{language}.parts] has no part {part!r}.")


def _check_split(edition: str, rule: EditionRule) -> None:
    if (rule.split_by is None) != (not rule.parts):
        raise InvalidRules(f"[{edition}] needs both `split_by` and a table [{edition}.parts], or neither.")
    if rule.split_by is None:
        return
    if "-" in edition:
        raise InvalidRules(f"[{edition}] is a part already: it cannot be split.")
    if rule.split_by in Story.__struct_fields__ and rule.split_by != LANGUAGE:
        raise InvalidRules(
            f"[{edition}] split_by = {rule.split_by!r}: stories are split by {LANGUAGE!r}, or by a field of your own."
        )
    seen: dict[str, str] = {}
    for part, values in rule.parts.items():
        for value in values:
            if seen.setdefault(folded(value), part) != part:
                raise InvalidRules(f"[{edition}.parts] {value!r} is a value of both {seen[folded(value)]} and {part}.")


def _changed(rule: DetectRule, by: EditionRule) -> DetectRule:
    changes = {
        "threshold": by.threshold,
        "window": None if by.window_hours is None else round(by.window_hours * HOUR),
        "min_publishers": by.min_publishers,
        "emerging_threshold": by.emerging_threshold,
        "emerging_window": None if by.emerging_hours is None else round(by.emerging_hours * HOUR),
        "emerging_publishers": by.emerging_publishers,
    }
    return replace(rule, **{name: value for name, value in changes.items() if value is not None})
