"""`newsburst topics`, `migrate` and `doctor`: prepare Kafka and Postgres, and say what is missing."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import click
from aiokafka.errors import KafkaError

from pipeline.cli.output import counted
from pipeline.config import Settings, load
from pipeline.kafka.admin import BrokerError, check_topics, clock_ahead, create_topics, grow_topics, mend_topics
from pipeline.kafka.changelogs import wrong_state
from pipeline.kafka.progress import GroupProgress
from pipeline.schemas import write_schemas
from pipeline.storage import migrate as migrations
from pipeline.storage.engine import DatabaseError
from pipeline.storage.read import Reader
from pipeline.storage.schema import SCHEMA

CLOCKS_AGREE = 60.0
"""Seconds that clocks may be apart."""


@click.group()
def topics() -> None:
    """Make and check the Kafka topics.

    \b
    Example: newsburst topics create
    """  # noqa: D301 - \b is click's mark for lines to keep


@topics.command()
def create() -> None:
    """Make the topics that are missing, and mend the settings of the others where they must be as they are declared.

    Partitions and replicas are those of NEWSBURST_PARTITIONS and NEWSBURST_REPLICATION.

    \b
    Example: NEWSBURST_PARTITIONS=8 newsburst topics create
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    done = [f"made {name}" for name in asyncio.run(create_topics(settings))]
    done += [f"mended {name}" for name in asyncio.run(mend_topics(settings))]
    click.echo("\n".join(done) or "All topics are there.")


@topics.command()
def grow() -> None:
    """Add partitions to all topics, up to NEWSBURST_PARTITIONS.

    Stop the workers before. An edition may belong to another partition then, where its clustering begins anew: stories there are
    not matched with those from before.

    \b
    Example: NEWSBURST_PARTITIONS=16 newsburst topics grow
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    grown = asyncio.run(grow_topics(settings))
    click.echo("\n".join(f"{name} has {settings.partitions} partitions" for name in grown) or "No topic has fewer.")


@topics.command()
def check() -> None:
    """Say what is wrong with the topics; exits with 1 if something is.

    \b
    Example: newsburst topics check
    """  # noqa: D301 - \b is click's mark for lines to keep
    wrong = asyncio.run(check_topics(load()))
    click.echo("\n".join(wrong) or "All topics are there.")
    if wrong:
        raise SystemExit(1)


@topics.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def schemas(folder: Path) -> None:
    """Write the JSON Schema of every record to FOLDER.

    \b
    Example: newsburst topics schemas schemas/
    """  # noqa: D301 - \b is click's mark for lines to keep
    for path in write_schemas(folder):
        click.echo(path)


@click.command()
def migrate() -> None:
    """Bring the schema `news` in Postgres up to date.

    \b
    Example: NEWSBURST_POSTGRES=postgresql://me@db/news newsburst migrate
    """  # noqa: D301 - \b is click's mark for lines to keep
    click.echo(f"Postgres is at revision {migrations.migrate(load().postgres)}.")


@click.command()
def doctor() -> None:
    """Say what is reachable, what is missing, and what to do; exits with 1 if something is missing.

    \b
    Example: newsburst doctor
    """  # noqa: D301 - \b is click's mark for lines to keep
    problems = 0
    for well, sentence in _examine(load()):
        click.echo(f"{'ok  ' if well else 'FAIL'} {sentence}")
        problems += not well
    if problems:
        raise SystemExit(1)


def _work(settings: Settings) -> Iterator[tuple[bool, str]]:
    async def progress() -> tuple[int, int]:
        async with GroupProgress(settings) as reader:
            return await reader.lag(), await reader.dead_letters()

    try:
        lag, dead = asyncio.run(progress())
    except KafkaError as error:
        yield (
            False,
            f"How far the workers are cannot be seen: {error!r}. What this user must be allowed is in docs/security.md.",
        )
    else:
        yield True, f"The workers have {counted(lag, 'record', 'records')} to finish."
        yield True, f"Dead letters: {dead:,}{'; see `newsburst dlq list`' if dead else ''}."
    try:
        yield _clock("Kafka", asyncio.run(clock_ahead(settings)))
    except KafkaError as error:
        yield True, f"Kafka's clock cannot be seen: {error!r}."
    for sentence in asyncio.run(wrong_state(settings)):
        yield False, sentence


def _clock(service: str, ahead: float) -> tuple[bool, str]:
    if abs(ahead) < CLOCKS_AGREE:
        return True, f"The clocks of {service} and of this machine agree within {CLOCKS_AGREE:g} s."
    relation = "ahead of" if ahead > 0 else "behind"
    return False, f"The clock of {service} is {abs(ahead):,.0f} s {relation} this machine's: set them by NTP."


def _examine(settings: Settings) -> Iterator[tuple[bool, str]]:
    try:
        wrong = asyncio.run(check_topics(settings))
    except BrokerError as error:
        yield False, f"{error} Start one, `newsburst up`, or set NEWSBURST_KAFKA."
    else:
        yield True, f"Kafka answers at {settings.kafka}."
        for sentence in wrong:
            yield False, sentence
        if not wrong:
            yield True, f"The topics {settings.topic_prefix}.* are there."
            yield from _work(settings)
    reader = Reader(settings.postgres)
    try:
        yield True, f"Postgres {reader.version()} answers."
        yield _clock("Postgres", reader.clock_ahead())
        at, latest = migrations.current(settings.postgres), migrations.latest()
        if at == latest:
            yield True, f"The schema {SCHEMA} is up to date (revision {at})."
        else:
            yield False, f"The schema news is at revision {at or 'none'}, not {latest}: run `newsburst migrate`."
    except DatabaseError as error:
        yield False, f"{error} Start one, `newsburst up`, or set NEWSBURST_POSTGRES."
    finally:
        reader.close()
