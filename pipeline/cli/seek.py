"""`newsburst seek`: where the workers go on in a partition."""

import asyncio

import click

from pipeline.cli.restore import STORED
from pipeline.config import load
from pipeline.kafka.admin import seek
from pipeline.storage.offsets import skip_to


@click.command("seek")
@click.argument("place", metavar="TOPIC:PARTITION:OFFSET")
def seek_command(place: str) -> None:
    """Have the workers go on at this offset of a partition: to skip a record, or to have some read again.

    Stop the workers before. What a stage with state has decided is not decided again: what is read again there changes nothing.

    \b
    Example: newsburst seek stories:0:13        (skips the record 12 of partition 0)
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    topic, *numbers = place.rsplit(":", 2)
    if not topic or len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
        raise click.UsageError(f"{place!r} is no place: write it as stories:0:13.")
    partition, offset = map(int, numbers)
    name = topic if topic.startswith(f"{settings.topic_prefix}.") else settings.topic(topic)
    before = asyncio.run(seek(settings, name, partition, offset))
    if name in map(settings.topic, STORED):
        skip_to(settings.postgres, (name, partition, offset))
    was = "at the beginning" if before is None else f"at {before}"
    click.echo(f"The workers go on at {offset} in partition {partition} of {name}; they were {was}.")
