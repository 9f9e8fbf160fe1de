"""Rules of detection by edition: a small language may never see fifteen stories on one event.

A file in TOML, with a table for each edition; what a table does not set is as for all others:

    [is]
    threshold = 5
    min_publishers = 3
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated

import msgspec
from msgspec import Meta

from pipeline.languages.codes import known_tag
from pipeline.stages.rules import DetectRule
from pipeline.times import HOUR

RuleOf = Callable[[str], DetectRule]
"""The rule of each edition."""
Count = Annotated[int, Meta(ge=1)]
Hours = Annotated[float, Meta(ge=1 / 60, le=24 * 365)]


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
        tag = known_tag(edition)
        if tag is None or tag != edition or "-" in tag:
            raise InvalidRules(f"[{edition}] is no edition: name it by its language, such as [pt].")
    return rules


def rule_of(rule: DetectRule, rules: Mapping[str, EditionRule]) -> RuleOf:
    """The rule of each edition, which is `rule` but for what `rules` sets."""
    return lambda edition: _changed(rule, rules[edition]) if edition in rules else rule


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
