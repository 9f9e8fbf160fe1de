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

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache, reduce
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from pipeline.languages.codes import known_tag, language_of
from pipeline.records import Story
from pipeline.stages.editions import LANGUAGE, folded
from pipeline.stages.rules import DetectRule, Split
from pipeline.times import HOUR

RuleOf = Callable[[str], DetectRule]
"""The rule of each edition."""
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Hours = Annotated[float, Meta(ge=1 / 60, le=24 * 365)]
_PART = re.compile(r"[a-z0-9]{1,32}")


class InvalidRules(ValueError):
    """A file of rules that is none; the message says what is wrong."""


class EditionRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What can be set for an edition."""

    threshold: Count | None = None
    window_hours: Hours | None = None
    min_publishers: Count | None = None
    emerging_threshold: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    emerging_hours: Hours | None = None
    emerging_publishers: Count | None = None
    split_by: str | None = None
    parts: dict[str, list[str]] = {}
    """by part, the values of its stories, folded and sorted"""


@lru_cache(maxsize=4)
def parse_rules(text: str) -> Mapping[str, EditionRule]:
    """The rules that a file in TOML sets, by edition. Raises InvalidRules."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidRules(f"not TOML: {error}.") from None
    except RecursionError:
        raise InvalidRules("not TOML that can be read: its brackets are nested too deeply.") from None
    rules = {edition: _rule(edition, table) for edition, table in tables.items()}
    for edition in rules:
        _check_name(edition, rules)
    return rules


def described(rules: Mapping[str, EditionRule]) -> dict[str, str]:
    """What the rules of each edition are, the same for files that mean the same; editions without any are left out."""
    said = {edition: msgspec.json.encode(rule, order="sorted").decode() for edition, rule in sorted(rules.items())}
    return {edition: text for edition, text in said.items() if text != "{}"}


def splits_of(rules: Mapping[str, EditionRule]) -> dict[str, Split]:
    """The languages that are split, and how."""
    return {
        edition: Split(rule.split_by, {value: part for part, values in rule.parts.items() for value in values})
        for edition, rule in rules.items()
        if rule.split_by is not None
    }


def rule_of(rule: DetectRule, rules: Mapping[str, EditionRule]) -> RuleOf:
    """The rule of each edition, which is `rule` but for what `rules` sets for its language and for itself."""

    def of(edition: str) -> DetectRule:
        named = dict.fromkeys((language_of(edition), edition))
        return reduce(_changed, (rules[name] for name in named if name in rules), rule)

    return of


def _rule(edition: str, table: Any) -> EditionRule:
    """The rule that a table sets."""
    name = _shown(edition)
    if not isinstance(table, dict):
        raise InvalidRules(f"{name} stands outside of a table: write it below one, such as [en].")
    values: dict[str, Any] = {}
    for field, value in table.items():
        if field not in EditionRule.__struct_fields__:
            (near, *_) = [*get_close_matches(field, EditionRule.__struct_fields__, 1), ""]
            raise InvalidRules(f"[{name}] {_shown(field)} is no rule{f'; did you mean {near}?' if near else '.'}")
        if field != "parts":
            try:
                values |= {field: getattr(msgspec.convert({field: value}, EditionRule), field)}
            except msgspec.ValidationError as error:
                reason = str(error).partition(" - at ")[0].replace(" | null", "")
                raise InvalidRules(f"[{name}] {field} = {value!r}: {reason}.") from None
    split_by, parts = values.get("split_by"), table.get("parts", {})
    if (split_by is None) != (not parts):
        raise InvalidRules(f"[{name}] needs both `split_by` and a table [{name}.parts], or neither.")
    if split_by is not None:
        _check_field(name, split_by)
        values["parts"] = _parts(name, split_by, parts)
    return EditionRule(**values)


def _check_field(edition: str, split_by: str) -> None:
    if "-" in edition:
        raise InvalidRules(f"[{edition}] is a part already: it cannot be split.")
    if not split_by or split_by != split_by.strip():
        raise InvalidRules(f"[{edition}] split_by = {split_by!r}: write the name of a field, without spaces around it.")
    if split_by in Story.__struct_fields__ and split_by != LANGUAGE:
        raise InvalidRules(
            f"[{edition}] split_by = {split_by!r}: stories are split by {LANGUAGE!r}, or by a field of your own."
        )


def _parts(edition: str, split_by: str, parts: Any) -> dict[str, list[str]]:
    """The values of each part, folded and sorted."""
    if not isinstance(parts, dict):
        raise InvalidRules(f"[{edition}] parts = {parts!r}: it should be a table, [{edition}.parts].")
    found: dict[str, list[str]] = {}
    of: dict[str, str] = {}
    for part, values in parts.items():
        where = f"[{edition}.parts] {_shown(part)}"
        if not _PART.fullmatch(part):
            raise InvalidRules(f"{where}: name a part by 1 to 32 small letters and digits.")
        if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
            raise InvalidRules(f'{where} = {values!r}: list the values of the field, such as ["Sport", "Football"].')
        own = set[str]()
        for value in values:
            text = _as_tag(value) if split_by == LANGUAGE else folded(value)
            if not text:
                raise InvalidRules(f"{where}: the value {value!r} is empty.")
            if split_by == LANGUAGE and (language_of(text) != edition or text == edition):
                raise InvalidRules(f"{where}: {value!r} is no language tag of {edition}, such as {edition}-GB.")
            if of.setdefault(text, part) != part:
                raise InvalidRules(f"[{edition}.parts] {value!r} is a value of both {of[text]} and {part}.")
            own.add(text)
        found[part] = sorted(own)
    return found


def _as_tag(value: str) -> str:
    return known_tag(value.strip()) or value


def _check_name(edition: str, rules: Mapping[str, EditionRule]) -> None:
    name = _shown(edition)
    language, dash, part = edition.partition("-")
    code = known_tag(language)
    if code is None:
        raise InvalidRules(f"[{name}] is no edition: name it by its language, such as [pt].")
    if code != language:
        raise InvalidRules(f"[{name}]: write [{code}{dash}{_shown(part)}].")
    if dash and (language not in rules or part not in rules[language].parts):
        raise InvalidRules(
            f"[{name}] is no edition: an edition is a language, [{language}], or a part that [{language}.parts] lists."
        )


def _shown(name: str) -> str:
    """A name on one line."""
    return name if name.isprintable() else name.encode("unicode_escape").decode()


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
