"""`newsburst topics`: make, check and describe the Kafka topics."""

import asyncio
from pathlib import Path

import click

from pipeline.config import load
from pipeline.kafka.admin import check_topics, create_topics, grow_topics, mend_topics
from pipeline.schemas import write_schemas


@click.group("topics")
def topics_command() -> None:
    """Make and check the Kafka topics.

    \b
    Example: newsburst topics create
    """  # noqa: D301 - \b is click's mark for lines to keep


@topics_command.command()
def create() -> None:
    """Make the topics that are missing, and correct the settings of the others where they must be as they are declared.

    Partitions and replicas are those of NEWSBURST_PARTITIONS and NEWSBURST_REPLICATION.

    \b
    Example: NEWSBURST_PARTITIONS=8 newsburst topics create
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    done = [f"made {name}" for name in asyncio.run(create_topics(settings))]
    done += [f"corrected {name}" for name in asyncio.run(mend_topics(settings))]
    click.echo("\n".join(done) or "All topics are there.")


@topics_command.command()
def grow() -> None:
    """Add partitions to all topics, up to NEWSBURST_PARTITIONS.

    Stop the workers before. An edition may belong to another partition then, where its clustering starts from nothing: stories
    there are not matched with those from before.

    \b
    Example: NEWSBURST_PARTITIONS=16 newsburst topics grow
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    grown = asyncio.run(grow_topics(settings))
    click.echo("\n".join(f"{name} has {settings.partitions} partitions" for name in grown) or "No topic has fewer.")


@topics_command.command()
def check() -> None:
    """Say what is wrong with the topics; exits with 1 if something is.

    \b
    Example: newsburst topics check
    """  # noqa: D301 - \b is click's mark for lines to keep
    wrong = asyncio.run(check_topics(load()))
    click.echo("\n".join(wrong) or "All topics are there.")
    if wrong:
        raise SystemExit(1)


@topics_command.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def schemas(folder: Path) -> None:
    """Write the JSON Schema of every record to FOLDER.

    \b
    Example: newsburst topics schemas schemas/
    """  # noqa: D301 - \b is click's mark for lines to keep
    for path in write_schemas(folder):
        click.echo(path)
