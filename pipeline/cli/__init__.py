"""The command `newsburst`."""

import gc
import signal
import sys
from typing import Any

import click
from aiokafka.errors import KafkaError

from pipeline import __version__
from pipeline.cli import (
    demo,
    dlq,
    evaluate,
    events,
    fit,
    produce,
    replay,
    report,
    retain,
    seek,
    setup,
    state,
    tune,
    up,
    worker,
)
from pipeline.cli.output import shown
from pipeline.codec import InvalidRecord
from pipeline.config import SettingsError
from pipeline.embedded.kafka import KafkaUnavailable
from pipeline.embedded.postgres import PostgresUnavailable
from pipeline.embedded.services import AlreadyRunning
from pipeline.evaluation.picture import PictureError
from pipeline.kafka.admin import BrokerError
from pipeline.kafka.changelogs import StateError
from pipeline.storage.engine import DatabaseError

EXPECTED = (
    AlreadyRunning,
    BrokerError,
    StateError,
    DatabaseError,
    InvalidRecord,
    KafkaUnavailable,
    PictureError,
    PostgresUnavailable,
    SettingsError,
)
"""Errors whose message is meant for people: shown without a traceback."""


class Group(click.Group):
    """A group that shows expected errors as one sentence and exits with 1."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except EXPECTED as error:
            raise click.ClickException(shown(str(error), keep="\n")) from None
        except KafkaError as error:
            raise click.ClickException(
                f"Kafka did not do it: {error!r}. `newsburst doctor` says what is missing; what a user must be allowed is in "
                "docs/security.md."
            ) from None


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="newsburst")
def main() -> None:
    """Breaking news events from a stream of crawled stories: Kafka in, Kafka and Postgres out.

    Settings are environment variables NEWSBURST_...; while `newsburst up` or `newsburst demo` runs in this folder, the other
    commands find its services by themselves.
    """
    gc.set_threshold(100_000, 50, 100)  # stories are kept by the ten thousand: most looks for garbage find none
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


for command in (
    demo.demo,
    up.up,
    worker.worker,
    produce.produce,
    replay.replay,
    evaluate.evaluate,
    fit.fit,
    tune.tune,
    events.events,
    report.report,
    dlq.dlq,
    seek.seek,
    state.state,
    setup.topics,
    setup.migrate,
    retain.retain,
    setup.doctor,
):
    main.add_command(command)
