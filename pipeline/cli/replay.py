"""`newsburst replay`: the stages over a file, without Kafka."""

from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import click

from pipeline.cli.output import STORIES, print_json
from pipeline.codec import encode
from pipeline.config import load
from pipeline.files import Line, load_stories
from pipeline.printed import shown
from pipeline.replay import fingerprints, replay


@click.command("replay")
@click.argument("file", type=STORIES)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("replay"), show_default=True, help="Folder."
)
@click.option("--skip", is_flag=True, help="Pass over lines that are no stories, and say which, instead of ending.")
def replay_command(file: str, out: Path, skip: bool) -> None:
    """Run the stories of FILE through the same stages as the worker does, without Kafka and Postgres.

    Writes what the worker would write to its topics, in the same order, as files of one JSON object a line: assignments.jsonl,
    clusters.jsonl and events.jsonl; prints the counts.

    \b
    Example: newsburst replay samples/uci_sample_3days.jsonl.gz --out /tmp/replay
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    now = datetime.now(UTC)
    stories = load_stories(file, now, settings.language, _say if skip else None)
    counts = {"stories": 0, "clusters": 0, "events": 0, "updates": 0}
    out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        assignments, clusters, events = (
            stack.enter_context((out / f"{name}.jsonl").open("wb")) for name in ("assignments", "clusters", "events")
        )
        records = fingerprints(stories, now, settings.normalise_rule())
        rules = settings.cluster_rule(), settings.detect_rules(), settings.score_weights()
        for step in replay(records, *rules):
            assignments.write(encode(step.assignment) + b"\n")
            clusters.writelines(encode(state) + b"\n" for state in step.clusters)
            events.writelines(encode(update) + b"\n" for update in step.updates)
            if not step.assignment.revision:
                counts["stories"] += 1
                counts["clusters"] += (step.clusters[-1].stories == 1) - len(step.assignment.merged)
            counts["events"] += sum(update.sequence == 1 for update in step.updates)
            counts["updates"] += len(step.updates)
    print_json(counts)


def _say(line: Line) -> None:
    click.echo(shown(f"line {line.number}: {line.error}"), err=True)
