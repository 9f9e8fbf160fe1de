"""Where the settings come from: variables `NEWSBURST_...`, else a TOML file, else running embedded services, else defaults."""

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import ValidationError

from pipeline.settings import RULES_OF, Settings, SettingsError

__all__ = ["RULES_OF", "Settings", "SettingsError", "load", "load_with_sources", "running_services"]

OF_TESTS = "NEWSBURST_TEST_"
"""How variables begin that the tests read."""
OF_COMPOSE = frozenset(f"NEWSBURST_{name}" for name in ("VERSION", "REVISION", "CREATED", "MEMORY"))
"""Variables that docker-compose.yml reads; they may stand in the environment of a command."""
FILE = "NEWSBURST_SETTINGS"
"""The variable that names the TOML file."""
DEFAULT, VARIABLE, RUNNING = "default", "variable", "embedded service"
"""Where a setting comes from; else it is a path."""


def load() -> Settings:
    """The settings of this process. Raises SettingsError."""
    return load_with_sources()[0]


def load_with_sources() -> tuple[Settings, dict[str, str]]:
    """The settings of this process, and where each comes from. Raises SettingsError."""
    variables = {name.upper() for name in os.environ}
    _refuse_unknown(variables)
    path = os.environ.get(FILE)
    given = {} if not path else _read(Path(path))
    of_file = {name: value for name, value in given.items() if f"NEWSBURST_{name.upper()}" not in variables}
    try:
        settings = Settings(**of_file)
    except ValidationError as error:
        raise SettingsError(_explained(error, path or "", of_file)) from None
    sources = {
        name: (path or "") if name in of_file else VARIABLE if name in settings.model_fields_set else DEFAULT
        for name in Settings.model_fields
    }
    running = running_services(settings.data)
    found = {name: running[name] for name in ("kafka", "postgres") if sources[name] == DEFAULT and name in running}
    sources |= dict.fromkeys(found, RUNNING)
    if "postgres" not in found and settings.postgres_password_file is not None:
        found["postgres"] = _with_password(settings.postgres, settings.postgres_password_file)
    return settings.model_copy(update=found | {"postgres_password_file": None}), sources


def _read(path: Path) -> dict[str, Any]:
    """The settings of a TOML file. Raises SettingsError."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{FILE}={str(path)!r}: {error}") from None
    for name, value in given.items():
        if isinstance(value, dict):
            raise SettingsError(f"{path}: [{name}] is a table: settings have none, they stand one below the other.")
        if name not in Settings.model_fields:
            meant = _meant(name, Settings.model_fields)
            raise SettingsError(f"{path}: {name} is no setting{meant} The README lists them all.")
        of = Settings.model_fields[name].annotation
        if isinstance(value, bool) and of is not bool:
            raise SettingsError(f"{path}: {name} = {str(value).lower()}: it is not true or false.")
        if Path in {of, *get_args(of)} and value:
            given[name] = path.parent / str(value)  # as paths in a file are read
    return given


def _explained(error: ValidationError, path: str, of_file: Mapping[str, Any]) -> str:
    """What is wrong with a setting, and where it stands."""
    wrong = error.errors()[0]
    reason = wrong["msg"].removeprefix("Value error, ")
    if not wrong["loc"]:
        return f"{reason}."
    name = str(wrong["loc"][0])
    secret = "password" in name or "token" in name or name in {"postgres", "smtp"}
    given = "..." if secret else repr(wrong["input"])
    return f"{path}: {name} = {given}: {reason}." if name in of_file else f"NEWSBURST_{name.upper()}={given}: {reason}."


def _with_password(uri: str, path: Path) -> str:
    """A URI of Postgres with the password that a file holds. Raises SettingsError."""
    try:
        password = path.read_text(encoding="utf-8").strip()
        parts = urlsplit(uri)
        has_one = parts.password is not None or "password=" in parts.query
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise SettingsError(f"NEWSBURST_POSTGRES_PASSWORD_FILE={str(path)!r}: {error}") from None
    if has_one:
        raise SettingsError(
            "NEWSBURST_POSTGRES has a password already: leave it out, or NEWSBURST_POSTGRES_PASSWORD_FILE."
        )
    user, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}@{host}"))


def _refuse_unknown(variables: Iterable[str]) -> None:
    """Raises SettingsError for a variable that means nothing: most often it is misspelled."""
    known = [FILE, *(f"NEWSBURST_{name.upper()}" for name in Settings.model_fields)]
    for name in variables:
        if name.startswith("NEWSBURST_") and name not in {*known, *OF_COMPOSE} and not name.startswith(OF_TESTS):
            raise SettingsError(f"{name} is no setting{_meant(name, known)} The README lists them all.")


def _meant(name: str, known: Iterable[str]) -> str:
    (near, *_) = [*get_close_matches(name, [*known], 1), ""]
    return f"; did you mean {near}?" if near else "."


def running_services(data: Path) -> dict[str, str]:
    """The addresses of the embedded services that run on this folder (`kafka`, `postgres`, `pid`); empty if none do."""
    try:
        services: dict[str, str] = json.loads((data / "services.json").read_text(encoding="utf-8"))
        os.kill(int(services["pid"]), 0)
    except (OSError, ValueError, KeyError):
        return {}
    return services
