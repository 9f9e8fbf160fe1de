"""`evaluate`, `fit` and `tune`."""

import gzip
import json

import pytest
from click.testing import CliRunner

from pipeline import pictures
from pipeline.cli import main, tune
from tests import sample
from tests.cli.run import run


@pytest.fixture
def few_stories(tmp_path):
    path = tmp_path / "few.jsonl"
    return sample.write(path, 300)


def test_evaluate_prints_its_figures_as_json(few_stories):
    truth = str(sample.TRUTH)
    result = run("evaluate", str(few_stories), "--truth", truth, "--json")
    figures = json.loads(result.output)
    assert list(figures) == [
        "profile",
        "files",
        "stories",
        "unlabelled",
        "unused_labels",
        "bcubed",
        "pairwise",
        "ari",
        "nmi",
        "events",
        "two_level",
        "reported",
        "intervals",
        "microseconds_per_story",
    ]
    assert list(figures["bcubed"]) == list(figures["pairwise"]) == ["precision", "recall", "f1"]
    assert {"true", "alerts", "precision", "recall", "f1", "duplicates", "false", "median_delay_seconds"} <= set(
        figures["events"]
    )
    assert (figures["profile"], figures["stories"]) == ("newsburst", 300)
    assert "B-cubed P/R/F1" in run("evaluate", str(few_stories), "--truth", truth).output


def test_evaluate_compares_all_profiles(few_stories):
    truth = str(sample.TRUTH)
    result = run("evaluate", str(few_stories), "--truth", truth, "--profile", "all", "--json")
    assert [figures["profile"] for figures in json.loads(result.output)] == ["newsburst", "newshound", "hu-you"]
    table = run("evaluate", str(few_stories), "--truth", truth, "--profile", "all").output
    assert all(name in table for name in ("newsburst", "newshound", "hu-you"))


def test_evaluate_lists_misses_with_reason_and_headlines(tmp_path):
    path, truth = tmp_path / "stories.jsonl", tmp_path / "truth.csv"
    story = {"crawled_at": "2024-05-01T12:00:00Z", "language": "en"}
    lines = [
        story
        | {"id": f"q{n}", "url": f"https://a.example/{n}", "publisher": f"p{n}", "title": f"Alpha{n} beta{n} gamma{n}"}
        for n in range(16)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    truth.write_text("story_id,event\n" + "".join(f"q{n},quake\n" for n in range(16)))
    result = run("evaluate", str(path), "--truth", str(truth), "--misses")
    assert "missed: quake, 16 stories" in result.output
    assert "split: 16 stories in 16 clusters" in result.output
    assert "- Alpha0 beta0 gamma0" in result.output
    listed = json.loads(run("evaluate", str(path), "--truth", str(truth), "--misses", "--json").output)["misses"]
    assert [(miss["kind"], miss["event"]) for miss in listed] == [("missed", "quake")]


def test_evaluate_that_is_asked_for_misses_says_that_there_are_none(few_stories):
    options = [str(few_stories), "--truth", str(sample.TRUTH), "--json"]
    assert "misses" not in json.loads(run("evaluate", *options).output)
    assert json.loads(run("evaluate", *options, "--misses").output)["misses"] == []


def test_evaluate_takes_several_files_and_sums_them_up(few_stories, tmp_path):
    more = sample.write(tmp_path / "more.jsonl", 200)
    both = [str(few_stories), str(more), "--truth", str(sample.TRUTH), "--truth", str(sample.TRUTH)]
    found = json.loads(run("evaluate", *both, "--json").output)
    assert [figures["stories"] for figures in found] == [300, 200, 500]
    assert found[2]["files"] == both[:2]
    table = run("evaluate", *both).output
    assert all(name in table for name in ("few", "more", "all files"))
    result = run("evaluate", *both[:2], "--truth", str(sample.TRUTH))
    assert (result.exit_code, "2 files of stories and 1 of labels" in result.output) == (2, True)


def test_evaluate_shows_two_levels_where_labels_have_groups(few_stories, tmp_path):
    figures = json.loads(run("evaluate", str(few_stories), "--truth", str(sample.TRUTH), "--json").output)
    assert list(figures["two_level"]["events"]) == ["precision", "recall", "f1", "repeats"]
    assert figures["two_level"]["bcubed"]["precision"] == figures["bcubed"]["precision"]
    assert "two-level alerts" in run("evaluate", str(few_stories), "--truth", str(sample.TRUTH)).output
    events_alone = tmp_path / "events.csv"
    events_alone.write_text("\n".join(line.rpartition(",")[0] for line in sample.TRUTH.read_text().splitlines()))
    figures = json.loads(run("evaluate", str(few_stories), "--truth", str(events_alone), "--json").output)
    assert figures["two_level"] is None


def test_fit_writes_weights_that_can_be_used(tmp_path):
    truth, path, weights = sample.TRUTH, tmp_path / "stories.jsonl", tmp_path / "weights.json"
    sample.write(path, 3_000)
    result = run("fit", str(path), "--truth", str(truth), "--rounds", "1", "--output", str(weights))
    assert result.exit_code == 0, result.output
    assert "stories.jsonl (3000 stories)" in json.loads(weights.read_text())["provenance"]
    used = CliRunner().invoke(
        main, ["evaluate", str(path), "--truth", str(truth), "--json"], env={"NEWSBURST_WEIGHTS": str(weights)}
    )
    assert json.loads(used.output)["bcubed"]["f1"] > 0.6
    weights.write_text("{}")
    broken = CliRunner().invoke(
        main, ["evaluate", str(path), "--truth", str(truth)], env={"NEWSBURST_WEIGHTS": str(weights)}
    )
    assert (broken.exit_code, "NEWSBURST_WEIGHTS=" in broken.output) == (1, True)
    assert run("fit", str(path), str(path), "--truth", str(truth)).exit_code == 2


def test_tune_prints_lines_for_the_settings_and_draws(few_stories, tmp_path):
    result = run("tune", str(few_stories), "--recall", "0.9", "--picture", str(tmp_path / "t.svg"))
    assert result.exit_code == 0, result.output
    assert "NEWSBURST_BANDS=" in result.output
    assert "NEWSBURST_ROWS=" in result.output
    assert (tmp_path / "t.svg").exists()
    assert run("tune", str(few_stories), "--picture", "t.gif").exit_code == 2
    figures = json.loads(run("tune", str(few_stories), "--picture", str(tmp_path / "t.png"), "--json").output)
    assert {"choices", "recommended", "wanted_recall"} <= set(figures)


def test_labels_that_match_nothing_are_no_perfect_score(few_stories, tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("story_id,event\nnobody,e1\n")
    result = run("evaluate", str(few_stories), "--truth", str(labels))
    assert result.exit_code == 1
    assert "None of the 1 labels" in result.output


def test_labels_may_be_packed_and_wide_ones_are_named(few_stories, tmp_path):
    story = json.loads(few_stories.read_text().splitlines()[0])
    text = f"story_id,event\n{story['id']},e1\n"
    packed, wide = tmp_path / "labels.csv.gz", tmp_path / "wide.csv"
    packed.write_bytes(gzip.compress(text.encode()))
    wide.write_bytes(text.encode("utf-16"))
    assert run("evaluate", str(few_stories), "--truth", str(packed)).exit_code == 0
    result = run("evaluate", str(few_stories), "--truth", str(wide))
    assert (result.exit_code, "is no CSV file in UTF-8" in result.output) == (1, True)


def test_tune_says_at_once_that_it_cannot_draw(few_stories, monkeypatch):
    monkeypatch.setattr(pictures, "find_spec", lambda _: None)
    monkeypatch.setattr(tune, "load_stories", lambda *_: pytest.fail("It began its work."))
    result = run("tune", str(few_stories))
    assert (result.exit_code, "--no-picture" in result.output) == (1, True)
