"""`newsburst evaluate`: measure clusters and alerts against labels."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from pipeline.cli.output import FILE, STORIES, print_json, print_rows
from pipeline.config import load
from pipeline.evaluation.evaluate import Delays, Evaluation, run_file, summarise
from pipeline.evaluation.labels import read_labels
from pipeline.files import load_stories
from pipeline.printed import shown
from pipeline.replay import fingerprints
from pipeline.stages.normalise import story_id
from pipeline.stages.profiles import PROFILES
from pipeline.stages.urls import canonical_url


@click.command("evaluate")
@click.argument("stories", nargs=-1, required=True, type=STORIES)
@click.option(
    "--truth",
    multiple=True,
    type=FILE,
    required=True,
    help="Labels of each file: CSV with story_id, event and, if there are groups, group.",
)
@click.option(
    "--profile",
    type=click.Choice([*PROFILES, "all"]),
    help="Rules to apply; all compares them.  [default: the setting]",
)
@click.option("--misses", is_flag=True, help="List each missed event, repeat alert and false alert, and why.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="JSON instead of a table: an object, or a list where there are several files or profiles.",
)
def evaluate_command(
    stories: tuple[str, ...], truth: tuple[str, ...], profile: str | None, misses: bool, as_json: bool
) -> None:
    """Replay STORIES and measure clusters and alerts against labels.

    An alert is true when at least half of the labelled stories in its window belong to one event that breaks by the rule; a
    second one for that event is a repeat. An alert of which fewer than half of the stories have a label is unknown. Delays count
    from the story with which the event first met the rule. Stories without a label and unknown alerts are only counted. Several
    files are replayed one by one, each with its --truth; the figures of all of them together come last.

    \b
    Example: newsburst evaluate samples/uci_sample_3days.jsonl.gz --truth samples/uci_sample_3days.truth.csv
    """  # noqa: D301 - \b is click's mark for lines to keep
    if len(stories) != len(truth):
        raise click.UsageError(
            f"There are {len(stories)} files of stories and {len(truth)} of labels; give one --truth for each."
        )
    settings = load()
    now = datetime.now(UTC)
    loaded = [list(load_stories(file, now, settings.language)) for file in stories]
    labels = [read_labels(file) for file in truth]
    for file, of_file, labels_file, of_labels in zip(stories, loaded, truth, labels, strict=True):
        if not any((story.id or story_id(canonical_url(story.url))) in of_labels.events for story in of_file):
            raise click.ClickException(
                f"None of the {len(of_labels.events)} labels in {labels_file} is of a story in {file}: `story_id` should be the "
                "story's `id`, or for stories without one what `newsburst replay` writes as `story.id`."
            )
    results: list[Evaluation] = []
    weights = settings.score_weights()
    for name in PROFILES:
        if name != (profile or settings.profile) and profile != "all":
            continue
        rules = settings.cluster_rule(name), settings.detect_rule(name)
        runs = []
        for file, of_file, of_labels in zip(stories, loaded, labels, strict=True):
            records = list(fingerprints(of_file, now, settings.normalise_rule(name)))
            runs.append(run_file(file, records, of_labels, *rules, weights, list_misses=misses))
        results += [summarise(name, [run]) for run in runs]
        if len(runs) > 1:
            results.append(summarise(name, runs))
    if as_json:
        print_json(results[0] if len(results) == 1 else results)
        return
    _print(results)
    if misses:
        for result in results:
            if len(result.files) == 1:
                _print_misses(result)


def _print(results: Sequence[Evaluation]) -> None:
    """One column for each file and profile."""
    files = len({tuple(result.files) for result in results}) > 1
    profiles = len({result.profile for result in results}) > 1
    columns: dict[str, dict[str, str]] = {}
    for result in results:
        file = Path(result.files[0]).name.partition(".")[0] if len(result.files) == 1 else "all files"
        name = " ".join([*([result.profile] if profiles or not files else []), *([file] if files else [])])
        while name in columns:
            name += "'"
        columns[name] = _figures(result)
    names = dict.fromkeys(name for figures in columns.values() for name in figures)
    rows = [
        {"measure": name, **{column: figures.get(name, "") for column, figures in columns.items()}} for name in names
    ]
    print_rows(rows, list(rows[0]), f"{max(result.stories for result in results)} stories")


def _figures(result: Evaluation) -> dict[str, str]:
    events, two_level = result.events, result.two_level
    figures = {
        "B-cubed P/R/F1": _three(result.bcubed),
        "F1 in 95 of 100": _interval(result, "bcubed_f1"),
        "pairs P/R/F1": _three(result.pairwise),
        "ARI, NMI": f"{result.ari:.3f}, {result.nmi:.3f}",
        "alerts P/R/F1": f"{events.precision:.3f}/{events.recall:.3f}/{events.f1:.3f}",
        "F1 in 95 of 100 ": _interval(result, "events_f1"),
        "breaking events": str(events.breaking),
        "too few publishers": str(events.few_publishers),
        "alerts": str(events.alerts),
        "true alerts": str(events.true),
        "repeat alerts": str(events.duplicates),
        "false alerts": str(events.false),
        "unknown alerts": str(events.unknown),
        "delay s 50/90/95 %": _delays(events.delays),
        "with misses": _delays(events.delays_with_misses),
        "from first story": _delays(events.delays_from_first_story),
        "first story right": f"{_share(result.reported.first_story)}, without strays {_share(result.reported.first_near_story)}",
        "AUC of burst score": _share(result.reported.burst_auc),
        "unlabelled stories": str(result.unlabelled),
        "labels not used": str(result.unused_labels),
        "us a story": str(result.microseconds_per_story),
    }
    if two_level is not None:
        of_alerts = two_level.events
        figures |= {
            "two-level B-cubed": _three(two_level.bcubed),
            "two-level alerts": f"{of_alerts.precision:.3f}/{of_alerts.recall:.3f}/{of_alerts.f1:.3f}",
            "two-level repeats": str(of_alerts.repeats),
        }
    return figures


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _interval(result: Evaluation, name: str) -> str:
    found = result.intervals[name]
    return "" if found is None else f"{found[0]:.3f} to {found[1]:.3f}"


def _delays(delays: Delays) -> str:
    values = (delays.median, delays.p90, delays.p95)
    return " / ".join("-" if value is None else f"{value:g}" for value in values)


def _three(values: dict[str, float]) -> str:
    return "/".join(f"{value:.3f}" for value in values.values())


def _print_misses(result: Evaluation) -> None:
    found = result.misses or []
    click.echo(f"\n{result.profile}: {len(found)} misses")
    for miss in found:
        click.echo(f"\n{miss.kind}: {shown(miss.event or 'no label')}, {miss.stories} stories\n  {shown(miss.reason)}")
        for headline in miss.headlines:
            click.echo(shown(f"  - {headline}"))
