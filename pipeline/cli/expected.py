"""Errors whose message is meant for people: the command shows it without a traceback."""

import click
from aiokafka.errors import KafkaError

from pipeline.codec import InvalidRecord
from pipeline.config import SettingsError
from pipeline.corpus.work import CorpusError
from pipeline.embedded.kafka import KafkaUnavailable
from pipeline.embedded.postgres import PostgresUnavailable
from pipeline.embedded.services import AlreadyRunning
from pipeline.kafka.admin import BrokerError
from pipeline.kafka.changelogs import StateError
from pipeline.pictures import PictureError
from pipeline.printed import shown
from pipeline.storage.engine import DatabaseError
from pipeline.storage.migrate import UnknownRevision

EXPECTED = (
    AlreadyRunning,
    BrokerError,
    CorpusError,
    StateError,
    DatabaseError,
    InvalidRecord,
    KafkaUnavailable,
    PictureError,
    PostgresUnavailable,
    SettingsError,
    UnknownRevision,
)


def explained(error: Exception) -> click.ClickException | None:
    """What to show of an error in the place of its traceback; None if it is not expected."""
    if isinstance(error, EXPECTED):
        return click.ClickException(shown(str(error), keep="\n"))
    if isinstance(error, KafkaError):
        return click.ClickException(
            f"Kafka did not do it: {error!r}. `newsburst doctor` says what is missing; what a user must be allowed is in "
            "docs/security.md."
        )
    return None
