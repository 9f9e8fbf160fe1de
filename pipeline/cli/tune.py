"""`newsburst tune`: which bands and rows suit one's own news."""

from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from pipeline.cli.output import STORIES, print_json, print_rows
from pipeline.config import load
from pipeline.evaluation.picture import draw
from pipeline.evaluation.tune import tune
from pipeline.files import load_stories
from pipeline.pictures import FORMATS, check_drawing
from pipeline.replay import fingerprints


@click.command("tune")
@click.argument("stories", type=STORIES)
@click.option(
    "--recall", type=click.FloatRange(0, 1, max_open=True), default=0.99, show_default=True, help="Wanted recall."
)
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    default=(Path("tune.svg"),),
    show_default=True,
    help="File for the picture, .svg or .png; may be repeated.",
)
@click.option("--no-picture", is_flag=True, help="Draw none.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
def tune_command(stories: str, recall: float, picture: tuple[Path, ...], no_picture: bool, as_json: bool) -> None:
    """Find the bands and rows that lead the stories of STORIES to their clusters at least cost.

    STORIES is a sample of your own news in order of time: some thousand stories, no labels. Recall is the share of stories
    with earlier ones in their cluster that are led to one of these. Prints the lines for the settings.

    \b
    Example: newsburst tune samples/uci_sample_3days.jsonl.gz --recall 0.99 --picture tune.svg
    """  # noqa: D301 - \b is click's mark for lines to keep
    picture = () if no_picture else picture
    for path in picture:
        if path.suffix not in FORMATS:
            raise click.BadParameter(f"{str(path)!r} should end in .svg or .png.", param_hint="--picture")
    if picture:
        check_drawing("ask for none with --no-picture")
    settings = load()
    now = datetime.now(UTC)
    records = list(
        fingerprints(load_stories(stories, now, settings.language), now, settings.normalise_rule("newsburst"))
    )
    rules = settings.cluster_rule("newsburst"), settings.detect_rule("newsburst"), settings.score_weights()
    tuning, found = tune(records, recall, *rules)
    for path in picture:
        draw(tuning, found, path)
    if as_json:
        print_json(tuning)
        return
    rows = [
        msgspec.to_builtins(row) | {"": "<- recommended" if row == tuning.recommended else ""} for row in tuning.choices
    ]
    print_rows(rows, list(rows[0]), f"{tuning.stories} stories")
    if not tuning.reached:
        click.echo(f"No choice reaches recall {recall}; the one with the most is taken.")
    click.echo(f"NEWSBURST_BANDS={tuning.recommended.bands}\nNEWSBURST_ROWS={tuning.recommended.rows}")
    if picture:
        click.echo(f"Picture: {', '.join(map(str, picture))}")
