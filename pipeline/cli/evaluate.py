"""`newsburst evaluate`: clusters and alerts against labels."""

from datetime import UTC, datetime

import click

from pipeline.cli.output import print_json, print_rows
from pipeline.config import load
from pipeline.evaluation.evaluate import Evaluation, read_truth
from pipeline.evaluation.evaluate import evaluate as measure
from pipeline.files import load_stories
from pipeline.replay import fingerprints

FILE = click.Path(exists=True, dir_okay=False)


@click.command()
@click.argument("stories", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--truth", type=FILE, required=True, help="Labels: CSV with the columns story_id and event.")
@click.option(
    "--profile", type=click.Choice(["newsburst"]), default="newsburst", show_default=True, help="Rules to apply."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
def evaluate(stories: str, truth: str, profile: str, as_json: bool) -> None:
    """Replay STORIES and measure clusters and alerts against labels.

    An alert is true when at least half of the stories in its window belong to one labelled event that breaks by the rule; a
    second one for the same event is a duplicate. Delays count from the moment the event was due.

    \b
    Example: newsburst evaluate samples/uci_sample_3days.jsonl.gz --truth samples/uci_sample_3days.truth.csv
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    now = datetime.now(UTC)
    records = list(fingerprints(load_stories(stories, now, settings.language), now, settings.language))
    result = measure(records, read_truth(truth), settings.cluster_rule(), settings.detect_rule(), profile)
    if as_json:
        print_json(result)
    else:
        _print(result)


def _print(result: Evaluation) -> None:
    events = result.events
    measures = [
        {"measure": "clusters, B-cubed", **result.bcubed},
        {"measure": "clusters, pairs", **result.pairwise},
        {"measure": "alerts", "precision": events.precision, "recall": events.recall, "f1": events.f1},
    ]
    title = f"{result.stories} stories, profile {result.profile}, {result.microseconds_per_story} us a story"
    print_rows(measures, ["measure", "precision", "recall", "f1"], title)
    click.echo(
        f"{events.alerts} alerts: {events.true} true of {events.breaking} breaking events, {events.duplicates} duplicates, "
        f"{events.false} false; median delay {events.median_delay_seconds} s."
    )
