"""`newsburst worker`: the agents, in this process."""

import asyncio
import os
import signal
import sys
from importlib.util import find_spec

import click

from pipeline.config import Settings, load
from pipeline.embedded.processes import COMMAND
from pipeline.kafka.admin import check_topics
from pipeline.kafka.changelogs import wrong_state
from pipeline.storage import migrate


@click.command("worker")
def worker_command() -> None:
    """Run a worker: the agents from stories to Postgres. Run several to share the partitions.

    It says first what is missing, if something is. SIGTERM and Ctrl-C end it when the work in hand is done.

    \b
    Example: NEWSBURST_KAFKA=broker:9092 NEWSBURST_POSTGRES=postgresql://me@db/news newsburst worker
    """  # noqa: D301 - \b is click's mark for lines to keep
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # it has nothing in hand yet
    settings = load()
    problems = missing(settings)
    if problems:
        raise click.ClickException("\n".join(problems))
    if find_spec("agents.worker") is None:
        found = find_spec("agents")
        where = found.origin if found else "nowhere"
        raise click.ClickException(
            f"The package `agents` that Python finds ({where}) is not Newsburst's: another distribution of that name shadows it. "
            "Install Newsburst in an environment of its own."
        )
    signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGTERM}
    )  # it waits until the worker has loaded, and is heard then
    os.execvpe(COMMAND[0], COMMAND, {**os.environ, **settings.environment()})  # noqa: S606 - no shell is wanted


def missing(settings: Settings) -> list[str]:
    """What a worker needs and does not find, one sentence each. Raises BrokerError and DatabaseError."""
    problems = asyncio.run(check_topics(settings)) or asyncio.run(wrong_state(settings))
    wrong = migrate.wrong_schema(settings.postgres)
    return problems if wrong is None else [*problems, wrong]
