"""`newsburst evaluate`: measure clusters and alerts against labels."""

from collections.abc import Sequence
from datetime import UTC, datetime

import click

from pipeline.cli.output import FILE, STORIES, print_json, print_rows, shown
from pipeline.config import load
from pipeline.evaluation.evaluate import Evaluation, evaluate, read_truth
from pipeline.files import load_stories
from pipeline.replay import fingerprints
from pipeline.stages.normalise import story_id
from pipeline.stages.profiles import PROFILES, stems
from pipeline.stages.urls import canonical_url


@click.command("evaluate")
@click.argument("stories", type=STORIES)
@click.option("--truth", type=FILE, required=True, help="Labels: CSV with the columns story_id and event.")
@click.option(
    "--profile",
    type=click.Choice([*PROFILES, "all"]),
    help="Rules to apply; all compares them.  [default: the setting]",
)
@click.option("--misses", is_flag=True, help="List each missed, duplicate and false event, and why.")
@click.option(
    "--json", "as_json", is_flag=True, help="JSON instead of a table: an object, or a list with --profile all."
)
def evaluate_command(stories: str, truth: str, profile: str | None, misses: bool, as_json: bool) -> None:
    """Replay STORIES and measure clusters and alerts against labels.

    An alert is true when at least half of the stories in its window belong to one labelled event that breaks by the rule; a
    second one for the same event is a duplicate. Delays count from the moment the event was due.

    \b
    Example: newsburst evaluate samples/uci_sample_3days.jsonl.gz --truth samples/uci_sample_3days.truth.csv
    """  # noqa: D301 - \b is click's mark for lines to keep
    settings = load()
    now = datetime.now(UTC)
    loaded = list(load_stories(stories, now, settings.language))
    labels = read_truth(truth)
    if not any((story.id or story_id(canonical_url(story.url))) in labels for story in loaded):
        raise click.ClickException(
            f"None of the {len(labels)} labels in {truth} is of a story in {stories}: `story_id` should be the story's `id`, or "
            "for stories without one what `newsburst replay` writes as `story.id`."
        )
    results: list[Evaluation] = []
    weights = settings.score_weights()
    for name in PROFILES:
        if name == (profile or settings.profile) or profile == "all":
            records = list(fingerprints(loaded, now, settings.language, stems=stems(name)))
            rules = settings.cluster_rule(name), settings.detect_rule(name)
            results.append(evaluate(records, labels, *rules, weights, list_misses=misses))
    if as_json:
        print_json(results if profile == "all" else results[0])
        return
    _print(results)
    if misses:
        for result in results:
            _print_misses(result)


def _print(results: Sequence[Evaluation]) -> None:
    columns = {result.profile: _figures(result) for result in results}
    names = list(columns[results[0].profile])
    rows = [{"measure": name, **{profile: figures[name] for profile, figures in columns.items()}} for name in names]
    print_rows(rows, list(rows[0]), f"{results[0].stories} stories")


def _figures(result: Evaluation) -> dict[str, str]:
    events = result.events
    return {
        "B-cubed P/R/F1": _three(result.bcubed),
        "pairs P/R/F1": _three(result.pairwise),
        "ARI, NMI": f"{result.ari:.3f}, {result.nmi:.3f}",
        "alerts P/R/F1": f"{events.precision:.3f}/{events.recall:.3f}/{events.f1:.3f}",
        "breaking events": str(events.breaking),
        "alerts": str(events.alerts),
        "true alerts": str(events.true),
        "second alerts": str(events.duplicates),
        "false alerts": str(events.false),
        "median delay s": "" if events.median_delay_seconds is None else str(events.median_delay_seconds),
        "us a story": str(result.microseconds_per_story),
    }


def _three(values: dict[str, float]) -> str:
    return "/".join(f"{value:.3f}" for value in values.values())


def _print_misses(result: Evaluation) -> None:
    found = result.misses or []
    click.echo(f"\n{result.profile}: {len(found)} misses")
    for miss in found:
        click.echo(f"\n{miss.kind}: {shown(miss.event or 'no label')}, {miss.stories} stories\n  {shown(miss.reason)}")
        for headline in miss.headlines:
            click.echo(shown(f"  - {headline}"))
