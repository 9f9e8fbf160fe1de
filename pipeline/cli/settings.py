"""`newsburst settings`: what is set, and where."""

import json

import click
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from pipeline.cli.output import print_rows
from pipeline.config import DEFAULT, FILE, RUNNING, Settings, load_with_sources
from pipeline.storage import engine as storage

MASK = "***"


@click.command("settings")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, by name.")
@click.option(
    "--toml", is_flag=True, help=f"A file for {FILE}: what is set, and as comments what is not. Without secrets."
)
@click.option("--reference", is_flag=True, help="All settings with their defaults, as a table in Markdown.")
def settings_command(as_json: bool, toml: bool, reference: bool) -> None:
    """Print the settings as they are, and where each comes from; secrets are masked.

    \b
    Example: newsburst settings
             newsburst settings --toml > newsburst.toml
    """  # noqa: D301 - \b is click's mark for lines to keep
    if reference:
        click.echo(table())
        return
    settings, sources = load_with_sources()
    values = {name: shown(name, getattr(settings, name)) for name in Settings.model_fields}
    if as_json:
        said = {name: {"value": values[name], "source": sources[name]} for name in values}
        click.echo(json.dumps(said, indent=1, ensure_ascii=False))
    elif toml:
        for name, field in Settings.model_fields.items():
            click.echo(f"# {field.description}")
            of = values[name]
            unset = of is None or MASK in str(of) or sources[name] in {DEFAULT, RUNNING}
            click.echo(f"{'# ' if unset else ''}{name} = {json.dumps('' if of is None else of, ensure_ascii=False)}")
    else:
        rows = [{"setting": name, "value": values[name], "from": sources[name]} for name in values]
        print_rows(rows, ("setting", "value", "from"), "Settings")


def shown(name: str, value: object) -> str | int | float | None:
    """A setting as it may be printed."""
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, SecretStr):
        return MASK
    return storage.shown(str(value)) if name == "postgres" else str(value)


def table() -> str:
    """All settings, as the README lists them."""
    rows = [
        f"| `NEWSBURST_{name.upper()}` | `{_default(field)}` | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]
    return "\n".join(["| variable | default | |", "|---|---|---|", *rows])


def _default(field: FieldInfo) -> str:
    default = field.default
    if default is None:
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else str(default)
