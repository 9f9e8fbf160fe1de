"""`newsburst restore`: write to Postgres what it lacks of the topics, after an older copy of it was restored."""

import asyncio
from typing import NamedTuple

import click

from pipeline.cli.output import counted
from pipeline.config import Settings, load
from pipeline.kafka.admin import seek
from pipeline.kafka.progress import GroupProgress
from pipeline.storage.offsets import UNKNOWN, continue_from, missing_from, stored_offsets

STORED = ("assignments", "clusters", "events")
"""The topics that are stored, in the order in which they are read again."""


class Missing(NamedTuple):
    """What Postgres lacks of a partition."""

    topic: str
    partition: int
    offset: int
    """the first that is missing"""
    begin: int
    """the first that is still on the topic"""

    @property
    def place(self) -> tuple[str, int, int]:
        """Topic, partition, and the offset from which it can be read again."""
        return self.topic, self.partition, max(self.offset, self.begin)


@click.command("restore")
@click.option(
    "--from-beginning", is_flag=True, help="Read all again that the topics still have, whatever Postgres says."
)
def restore_command(*, from_beginning: bool) -> None:
    """Make the workers write again what Postgres lacks, after an older copy of it was restored.

    Stop the workers before. What they write again changes nothing where it is there. `newsburst doctor` says whether anything
    is missing.

    \b
    Example: newsburst restore
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    found = asyncio.run(missing(settings, from_beginning=from_beginning))
    if not found:
        click.echo("Postgres has all that the store has read from the topics.")
        return
    for part in found:
        asyncio.run(seek(settings, *part.place))
    continue_from(settings.postgres, [part.place for part in found])
    for part in found:
        gone = max(0, part.begin - part.offset)
        lost = (
            f" {counted(gone, 'offset', 'offsets')} before that are not on the topic any more: only a newer copy has them."
            if gone
            else ""
        )
        click.echo(f"The store reads {part.topic}:{part.partition} again from {part.place[2]}.{lost}")
    click.echo("Start the workers.")


async def missing(settings: Settings, *, from_beginning: bool = False) -> list[Missing]:
    """What Postgres lacks, or might. Raises BrokerError, KafkaError and DatabaseError."""
    known = await asyncio.to_thread(stored_offsets, settings.postgres)
    async with GroupProgress(settings) as progress:
        committed = await progress.committed(STORED)
        found = {
            place: offset
            for place, done in committed.items()
            if (offset := 0 if from_beginning else missing_from(known, place.topic, place.partition, done)) is not None
        }
        begins = await progress.begins(found)
    return [Missing(place.topic, place.partition, offset, begins[place]) for place, offset in sorted(found.items())]


async def wrong_stored(settings: Settings) -> tuple[list[str], bool]:
    """What Postgres lacks, in a sentence, if anything; and whether that is not known of a partition. Raises as `missing` does."""
    found = await missing(settings)
    if not found:
        return [], await _is_unknown(settings)
    of = f"{found[0].topic}:{found[0].partition}, from offset {found[0].offset:,} on"
    more = f", and of {counted(len(found) - 1, 'other partition', 'other partitions')}" if len(found) > 1 else ""
    said = (
        f"Postgres lacks what the store has read of {of}{more}: an older copy was restored, or this is another database. "
        "Stop the workers, run `newsburst restore`, start them."
    )
    return [said], False


async def _is_unknown(settings: Settings) -> bool:
    """Whether there is a partition of which only a version from before revision 0012 has stored anything."""
    known = await asyncio.to_thread(stored_offsets, settings.postgres)
    async with GroupProgress(settings) as progress:
        committed = await progress.committed(STORED)
    return (UNKNOWN, 0) in known and any(
        done and (of.topic, of.partition) not in known for of, done in committed.items()
    )
