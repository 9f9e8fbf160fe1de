"""`newsburst fit`: learn the weights of the scores from one's own labels."""

import json
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.progress import Progress

from pipeline.cli.output import FILE
from pipeline.config import load
from pipeline.evaluation.fit import ROUNDS, Round, Stream, fit
from pipeline.evaluation.labels import read_labels
from pipeline.files import load_stories
from pipeline.replay import fingerprints


@click.command("fit")
@click.argument("stories", nargs=-1, required=True, type=FILE)
@click.option(
    "--truth", multiple=True, required=True, type=FILE, help="Labels of each file: CSV with story_id and event."
)
@click.option(
    "--rounds", type=click.IntRange(1, 50), default=ROUNDS, show_default=True, help="How many rounds of learning."
)
@click.option(
    "--output", type=click.Path(dir_okay=False), default="weights.json", show_default=True, help="File to write."
)
def fit_command(stories: tuple[str, ...], truth: tuple[str, ...], rounds: int, output: str) -> None:
    """Learn the weights of the scores from labelled STORIES, one or several files, each with its --truth.

    A week with a hundred events is enough. Point NEWSBURST_WEIGHTS at the file it writes to use them; check them first with
    `newsburst evaluate` on stories that they were not learned from.

    \b
    Example: newsburst fit april.jsonl may.jsonl --truth april.csv --truth may.csv --output weights.json
    """  # noqa: D301 - \b is click's mark for lines to keep
    if len(stories) != len(truth):
        raise click.UsageError(
            f"There are {len(stories)} files of stories and {len(truth)} of labels; give one --truth for each."
        )
    settings = load()
    now = datetime.now(UTC)
    streams = [
        Stream(
            list(fingerprints(load_stories(file, now, settings.language), now, settings.normalise_rule("newsburst"))),
            read_labels(labels),
        )
        for file, labels in zip(stories, truth, strict=True)
    ]
    told = 0
    with Progress(transient=True) as progress:
        task = progress.add_task("Rounds", total=rounds + 1)

        def tell(result: Round) -> None:
            nonlocal told
            name = "Mean of the rounds" if told == rounds else f"Round {told}" if told else "Weights so far"
            progress.console.print(f"{name}: B-cubed F1 {result.bcubed:.4f}, event F1 {result.events:.4f}")
            told += 1
            progress.advance(task)

        best = fit(streams, settings.score_weights(), settings.cluster_rule(), settings.detect_rule(), rounds, tell)
    names = ", ".join(Path(file).name for file in stories)
    data = {
        "provenance": f"newsburst fit on {names} ({sum(len(stream.fingerprints) for stream in streams)} stories), "
        f"mean of rounds {min(2, rounds)} to {rounds}: B-cubed F1 {best.bcubed:.4f} and event F1 {best.events:.4f} on these.",
        **{part: values._asdict() for part, values in best.weights._asdict().items()},
    }
    Path(output).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    click.echo(f"Wrote {output}; use it with NEWSBURST_WEIGHTS={output}.")
