"""`newsburst state`: the rows that clustering and counting are built from, and the rule that they were made by."""

import asyncio
from collections import Counter

import click

from pipeline.cli.output import print_json, print_rows
from pipeline.config import RULES_OF, Settings, load
from pipeline.kafka.admin import workers
from pipeline.kafka.changelogs import NO_RULES, adopt, differences, forget, rules
from pipeline.storage.positions import forget_positions


@click.group("state")
def state_command() -> None:
    """Look at the state of the stages, take it over with another rule, or start from nothing.

    \b
    Example: newsburst state show
    """  # noqa: D301 - \b is click's mark for lines to keep


@state_command.command()
@click.option("--json", "as_json", is_flag=True, help="A JSON list instead of a table.")
def show(as_json: bool) -> None:
    """The rule that the state was made by, beside the settings here.

    \b
    Example: newsburst state show
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    found, ours = asyncio.run(rules(settings)), settings.rule()
    of_editions = {name for rule in found for name in rule if name.startswith(RULES_OF)}
    rows = [
        {
            "setting": name,
            "state": ", ".join(sorted({rule[name] for rule in found if name in rule})),
            "here": ours.get(name, NO_RULES),
        }
        for name in [*ours, *sorted(of_editions - ours.keys())]
    ]
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, ["setting", "state", "here"], "The rule of the state")


@state_command.command("adopt")
@click.option("--yes", is_flag=True, help="Do not ask.")
def adopt_command(yes: bool) -> None:
    """Have workers with the settings here go on with the state, though it was made by another rule.

    What is known stays as it was decided. A shorter look-back deletes the stories that it does not reach when the next one
    comes. Another threshold, window or number of publishers holds from the next story on. With other bands and rows, what is
    known is matched by those. Where a language is split in another way, stories go to other editions from then on. Stop the
    workers before, and start none with the old settings.

    \b
    Example: NEWSBURST_THRESHOLD=20 newsburst state adopt
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    found, ours = asyncio.run(rules(settings)), settings.rule()
    changes = Counter(
        f"{name}: {theirs} becomes {mine}" for rule in found for name, theirs, mine in differences(rule, ours)
    )
    if not changes:
        click.echo("The state was made by the rule of the settings here: there is nothing to adopt.")
        return
    click.echo("\n".join(changes))
    _confirm(settings, yes)
    asyncio.run(adopt(settings))
    click.echo("Done: start the workers with these settings.")


@state_command.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
def reset(yes: bool) -> None:
    """Forget the state: clustering and counting start from nothing with the next story. Topics and Postgres keep what was found.

    For when `fingerprints` was deleted and made again, or restored from an old copy. Events that have not ended stay as they are
    in reports. Stop the workers before.

    \b
    Example: newsburst state reset
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    _confirm(settings, yes)
    rows = asyncio.run(forget(settings))
    forget_positions(settings.postgres)
    click.echo(f"{rows:,} rows forgotten: start the workers.")


def _confirm(settings: Settings, yes: bool) -> None:
    """Raises ClickException while workers run, and Abort if it is not wanted."""
    if running := asyncio.run(workers(settings)):
        raise click.ClickException(f"Workers still run ({running}): stop them first.")
    if not yes:
        click.confirm("Go on?", abort=True)
