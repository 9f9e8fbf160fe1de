"""`newsburst cluster`: the clusters and events of an archive, without Kafka."""

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from pipeline.archive import Archive, archived
from pipeline.cli.output import STORIES, counted, print_json
from pipeline.codec import InvalidRecord
from pipeline.config import Settings, load
from pipeline.corpus.work import told, whole_file
from pipeline.files import read_stories
from pipeline.printed import shown
from pipeline.records import Record, Story
from pipeline.replay import replay
from pipeline.storage.engine import DatabaseError
from pipeline.storage.offsets import stored_offsets
from pipeline.storage.write import Writer

BATCH_RECORDS = 2_000
"""Records of a transaction."""
BATCHES_AHEAD = 4
"""Batches that may wait for Postgres; more would fill the memory."""


@click.command("cluster")
@click.argument("files", nargs=-1, required=True, type=STORIES, metavar="FILE...")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write clusters.jsonl and events.jsonl into this folder.",
)
@click.option(
    "--load", "load_", is_flag=True, help="Write all into Postgres, as a worker does. The database is the setting's."
)
@click.option("--sort", is_flag=True, help="Put the stories in order of `crawled_at` first, in memory.")
@click.option("--strict", is_flag=True, help="End at the first line that is no story.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as one JSON object.")
def cluster_command(
    files: tuple[str, ...], out: Path | None, *, load_: bool, sort: bool, strict: bool, as_json: bool
) -> None:
    """Cluster the stories of an archive and find its events, without Kafka.

    FILE... hold stories as `newsburst produce` takes them, in the order in which they came. The stages and the ids are those of
    the stream. With --load the reports are there afterwards; a run that was ended can be given again.

    \b
    Example: newsburst cluster archive-2023.jsonl.gz archive-2024.jsonl.zst --out clusters
             NEWSBURST_POSTGRES=postgresql://me@db/archive newsburst cluster archive.jsonl.gz --load
    """  # noqa: D301 - \b is click's mark for lines to keep
    if out is None and not load_:
        raise click.UsageError("Say where to: --out FOLDER, --load, or both.")
    settings = load()
    refused = 0

    def stories() -> Iterator[Story]:
        nonlocal refused
        for path in files:
            for line in read_stories(path, datetime.now(UTC), settings.language):
                if line.story is not None:
                    yield line.story
                elif strict:
                    raise InvalidRecord(f"{path}, line {line.number}: {line.error}")
                else:
                    refused += 1
                    click.echo(shown(f"{path}, line {line.number}: {line.error}"), err=True)

    ordered: Iterable[Story] = sorted(stories(), key=lambda story: story.crawled_at) if sort else stories()
    archive = _run(settings, ordered, load_=load_)
    clusters, events = list(archive.clusters()), list(archive.events())
    if out is not None:
        with told(out):
            out.mkdir(exist_ok=True)
            for name, records in (("clusters", clusters), ("events", events)):
                with whole_file(out / f"{name}.jsonl") as file:
                    file.writelines(msgspec.json.encode(record) + b"\n" for record in records)
    counts = {
        "stories": archive.stories,
        "clusters": len(clusters),
        "events": len(events),
        "out_of_order": archive.out_of_order,
        "refused": refused,
    }
    if as_json:
        print_json(counts)
        return
    click.echo(
        f"{counted(archive.stories, 'story', 'stories')}, {counted(len(clusters), 'cluster', 'clusters')}, "
        f"{counted(len(events), 'event', 'events')}"
    )
    if refused:
        click.echo(f"{counted(refused, 'line', 'lines')} left out, which are no stories.")
    if archive.out_of_order:
        click.echo(
            f"{counted(archive.out_of_order, 'story', 'stories')} more than an hour behind later ones: the files are not in "
            "order of `crawled_at`, and events are missed. --sort puts them in order."
        )


def _run(settings: Settings, stories: Iterable[Story], *, load_: bool) -> Archive:
    """Replay the stories; with `load_`, a thread writes to Postgres meanwhile."""
    archive = Archive()
    records = archived(stories, settings.normalise_rule())
    steps = replay(records, settings.cluster_rule(), settings.detect_rules(), settings.score_weights())
    if not load_:
        for step in steps:
            archive.take(step)
        return archive
    _check_database(settings)
    writer = Writer(settings.postgres)
    waiting: list[Future[None]] = []
    batch: list[Record] = []
    try:
        with ThreadPoolExecutor(1) as pool:
            for step in steps:
                batch += archive.take(step)
                if len(batch) >= BATCH_RECORDS:
                    waiting.append(pool.submit(writer.write, batch))
                    batch = []
                    if len(waiting) > BATCHES_AHEAD:
                        waiting.pop(0).result()
            waiting.append(pool.submit(writer.write, batch))
            for future in waiting:
                future.result()
    finally:
        writer.close()
    return archive


def _check_database(settings: Settings) -> None:
    """Raises DatabaseError where workers write: positions of an archive would be mixed up with those of the stream."""
    if stored_offsets(settings.postgres):
        raise DatabaseError(
            "Workers write into this database: an archive would be mixed up with the stream. Make another one, name it in "
            "NEWSBURST_POSTGRES, and run `newsburst migrate`."
        )
