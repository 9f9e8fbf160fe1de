"""`newsburst doctor`: say what is reachable, what is missing, and what to do."""

import asyncio
from collections.abc import Iterator

import click
from aiokafka.errors import KafkaError

from pipeline.cli.output import counted
from pipeline.cli.restore import wrong_stored
from pipeline.config import Settings, load
from pipeline.kafka.admin import BrokerError, check_replicas, check_topics, clock_ahead
from pipeline.kafka.changelogs import wrong_state
from pipeline.kafka.progress import GroupProgress
from pipeline.storage.engine import DatabaseError
from pipeline.storage.migrate import latest, wrong_schema
from pipeline.storage.read import Reader
from pipeline.storage.schema import SCHEMA

CLOCK_TOLERANCE_S = 60.0
"""Seconds that clocks may be apart."""


@click.command("doctor")
def doctor_command() -> None:
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


def _stored(settings: Settings) -> Iterator[tuple[bool, str]]:
    try:
        wrong, unknown = asyncio.run(wrong_stored(settings))
    except (BrokerError, KafkaError):
        yield True, "Whether Postgres has all that the store has read cannot be seen without Kafka."
        return
    for sentence in wrong:
        yield False, sentence
    if unknown:
        yield (
            True,
            (
                "It is not known what Postgres had before revision 0012. If this is an older copy: stop the workers, "
                "`newsburst restore --from-beginning`."
            ),
        )
    elif not wrong:
        yield True, "Postgres has all that the store has read from the topics."


def _clock(service: str, ahead: float) -> tuple[bool, str]:
    if abs(ahead) < CLOCK_TOLERANCE_S:
        return True, f"The clocks of {service} and of this machine agree within {CLOCK_TOLERANCE_S:g} s."
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
            for sentence in asyncio.run(check_replicas(settings)):
                yield False, sentence
            yield from _work(settings)
    reader = Reader(settings.postgres)
    try:
        yield True, f"Postgres {reader.version()} answers."
        yield _clock("Postgres", reader.clock_ahead())
        unfit = wrong_schema(settings.postgres)
        if unfit is None:
            yield True, f"The schema {SCHEMA} is up to date (revision {latest()})."
            yield from _stored(settings)
        else:
            yield False, unfit
    except DatabaseError as error:
        yield False, f"{error} Start one, `newsburst up`, or set NEWSBURST_POSTGRES."
    finally:
        reader.close()
