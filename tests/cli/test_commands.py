"""The commands, on real services where they need them."""

import gzip
import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pipeline.cli import main
from pipeline.config import Settings
from tests.integration.helpers import prepare, read

SAMPLES = Path(__file__).parents[2] / "samples"
SAMPLE = SAMPLES / "uci_sample_3days.jsonl.gz"
NEWSBURST = Path(sys.executable).with_name("newsburst")
GOOD = '{"url": "https://a.example/b", "title": "T", "publisher": "P", "crawled_at": "2024-05-01T11:00:00Z"}'


def commands(group=main, path=()):
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        yield (*path, name)


def run(*arguments, settings=None, **kwargs):
    return CliRunner().invoke(main, list(arguments), env=settings.environment() if settings else None, **kwargs)


@pytest.fixture
def few_stories(tmp_path):
    path = tmp_path / "few.jsonl"
    with gzip.open(SAMPLE, "rt") as lines:
        path.write_text("".join(islice(lines, 300)))
    return path


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_every_command_has_help_with_an_example(path):
    result = run(*path, "--help")
    assert result.exit_code == 0
    assert "Example: " in result.output
    assert f"newsburst {' '.join(path)}" in result.output.partition("Example: ")[2]


def test_the_command_is_installed():
    done = subprocess.run([NEWSBURST, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("newsburst, version")


def test_produce_refuses_bad_lines_by_number_and_sends_the_others(settings, tmp_path):
    prepare(settings)
    path = tmp_path / "stories.jsonl"
    path.write_text("\n".join([GOOD, "nonsense", GOOD.replace("2024", "1970"), GOOD.replace('"T"', '""'), GOOD]))
    result = run("produce", str(path), settings=settings)
    assert result.exit_code == 1
    assert "line 2: Not JSON" in result.output
    assert "line 3: Wrong Story: crawled_at: 1970-05-01" in result.output
    assert "line 4: Wrong Story: title" in result.output
    assert "2 stories sent, 3 lines refused." in result.output
    assert len(read(settings, "stories")) == 2


def test_produce_reads_standard_input(settings):
    prepare(settings)
    done = subprocess.run(
        [NEWSBURST, "produce", "-", "--quiet"],
        input=GOOD,
        env=os.environ | settings.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "1 stories sent.\n"
    assert len(read(settings, "stories")) == 1


def test_replay_writes_what_the_topics_would_hold(few_stories, tmp_path):
    result = run("replay", str(few_stories), "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    counts = json.loads(result.output)
    assignments = (tmp_path / "out" / "assignments.jsonl").read_text().splitlines()
    assert counts["stories"] == len(assignments) == 300
    clusters = {}
    for line in (tmp_path / "out" / "clusters.jsonl").read_text().splitlines():
        clusters[json.loads(line)["id"]] = json.loads(line)
    assert counts["clusters"] == sum(state["merged_into"] is None for state in clusters.values())
    assert counts["updates"] == len((tmp_path / "out" / "events.jsonl").read_text().splitlines())


def test_evaluate_prints_its_figures_as_json(few_stories):
    truth = str(SAMPLES / "uci_sample_3days.truth.csv")
    result = run("evaluate", str(few_stories), "--truth", truth, "--json")
    figures = json.loads(result.output)
    assert list(figures) == [
        "profile",
        "stories",
        "bcubed",
        "pairwise",
        "ari",
        "nmi",
        "events",
        "microseconds_per_story",
    ]
    assert list(figures["bcubed"]) == list(figures["pairwise"]) == ["precision", "recall", "f1"]
    assert {"true", "alerts", "precision", "recall", "f1", "duplicates", "false", "median_delay_seconds"} <= set(
        figures["events"]
    )
    assert (figures["profile"], figures["stories"]) == ("newsburst", 300)
    assert "B-cubed P/R/F1" in run("evaluate", str(few_stories), "--truth", truth).output


def test_evaluate_compares_all_profiles(few_stories):
    truth = str(SAMPLES / "uci_sample_3days.truth.csv")
    result = run("evaluate", str(few_stories), "--truth", truth, "--profile", "all", "--json")
    assert [figures["profile"] for figures in json.loads(result.output)] == ["newsburst", "newshound", "hu-you"]
    table = run("evaluate", str(few_stories), "--truth", truth, "--profile", "all").output
    assert all(name in table for name in ("newsburst", "newshound", "hu-you"))


def test_evaluate_lists_misses_with_reason_and_headlines(tmp_path):
    path, truth = tmp_path / "stories.jsonl", tmp_path / "truth.csv"
    quake = GOOD.replace('"T"', '"Quake strikes Nepal capital"')
    path.write_text("\n".join(quake.replace('"url"', f'"id": "q{n}", "url"') for n in range(16)))
    truth.write_text("story_id,event\n" + "".join(f"q{n},quake\n" for n in range(16)))
    result = run("evaluate", str(path), "--truth", str(truth), "--misses")
    assert "missed: quake, 16 stories" in result.output
    assert "below the rule: fewer than 10 publishers" in result.output
    assert "- Quake strikes Nepal capital" in result.output
    listed = json.loads(run("evaluate", str(path), "--truth", str(truth), "--misses", "--json").output)["misses"]
    assert [(miss["kind"], miss["event"]) for miss in listed] == [("missed", "quake")]


def test_fit_writes_weights_that_can_be_used(tmp_path):
    truth, path, weights = SAMPLES / "uci_sample_3days.truth.csv", tmp_path / "stories.jsonl", tmp_path / "weights.json"
    with gzip.open(SAMPLE, "rt") as lines:
        path.write_text("".join(islice(lines, 3_000)))
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


def test_topics_and_schema_are_made_checked_and_found_by_the_doctor(settings):
    sick = run("doctor", settings=settings)
    assert sick.exit_code == 1
    assert f"Topic {settings.topic('stories')} is missing: run `newsburst topics create`" in sick.output
    assert "run `newsburst migrate`" in sick.output
    assert run("topics", "check", settings=settings).exit_code == 1
    refused = run("worker", settings=settings)
    assert refused.exit_code == 1
    assert "newsburst topics create" in refused.output
    assert "newsburst migrate" in refused.output

    assert f"made {settings.topic('stories')}" in run("topics", "create", settings=settings).output
    assert run("topics", "create", settings=settings).output == "All topics are there.\n"
    assert run("topics", "check", settings=settings).exit_code == 0
    assert "revision" in run("migrate", settings=settings).output
    well = run("doctor", settings=settings)
    assert "ok   The workers have 0 records to finish.\nok   There are 0 dead letters.\n" in well.output
    assert (well.exit_code, "FAIL" in well.output) == (0, False), well.output


def test_what_is_not_reachable_is_said_without_a_traceback():
    nowhere = Settings(kafka="127.0.0.1:1", postgres="postgresql://127.0.0.1:1/none")
    for command in (("doctor",), ("topics", "create"), ("events",), ("report", "breaking"), ("migrate",)):
        result = run(*command, settings=nowhere)
        assert result.exit_code == 1
        assert "NEWSBURST_KAFKA" in result.output or "NEWSBURST_POSTGRES" in result.output


def test_a_wrong_setting_is_said_without_a_traceback():
    result = CliRunner().invoke(main, ["doctor"], env={"NEWSBURST_THRESHOLD": "many"})
    assert (result.exit_code, "NEWSBURST_THRESHOLD='many'" in result.output) == (1, True)


def test_an_unknown_event_is_named(settings):
    prepare(settings)
    result = run("report", "event", "e404", settings=settings)
    assert result.exit_code == 1
    assert "There is no event e404" in result.output
