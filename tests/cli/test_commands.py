"""The commands, on real services where they need them."""

import asyncio
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import click
import msgspec
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from click.testing import CliRunner
from rich.console import Console

from agents.runtime.producer import Message, PackedProducer
from pipeline.cli import COMMANDS, doctor, main, output, tune
from pipeline.cli.output import print_rows
from pipeline.codec import encode
from pipeline.config import Settings
from pipeline.evaluation import picture
from pipeline.kafka.admin import admin
from pipeline.kafka.topics import all_topics
from pipeline.replay import replay
from pipeline.stages.rules import DetectRule
from pipeline.storage.write import Writer
from pipeline.times import HOUR, from_millis
from tests import sample
from tests.integration.helpers import _read, prepare, read, send
from tests.make import fingerprinted

NEWSBURST = Path(sys.executable).with_name("newsburst")
GOOD = '{"url": "https://a.example/b", "title": "T", "publisher": "P", "crawled_at": "2024-05-01T11:00:00Z"}'


def commands(group=main, path=()):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        yield (*path, name)


def run(*arguments, settings=None, **kwargs):
    return CliRunner().invoke(main, list(arguments), env=settings.environment() if settings else None, **kwargs)


@pytest.fixture
def few_stories(tmp_path):
    path = tmp_path / "few.jsonl"
    return sample.write(path, 300)


def test_each_command_is_listed_with_the_first_sentence_of_its_own_help():
    for name, line in COMMANDS.items():
        command = main.get_command(None, name)
        assert command.name == name
        assert command.help.partition("\n\n")[0].replace("\n", " ").replace("\b", "").strip() == line


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_what_needs_nothing_of_the_pipeline_loads_nothing_of_it(option):
    script = (
        "import sys\n"
        "from pipeline.command import main\n"
        f"sys.argv = ['newsburst', '{option}']\n"
        "try:\n    main()\n"
        "finally:\n    print(sorted({'numba', 'sqlalchemy', 'alembic', 'aiokafka', 'pydantic'} & {*sys.modules}))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


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
    assert "line 3: `crawled_at` is before 1990: 1970-05-01" in result.output
    assert "line 4: `title`" in result.output
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
    assert done.stderr == "1 story sent.\n"
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
    truth = str(sample.TRUTH)
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
    truth = str(sample.TRUTH)
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
    assert "ok   The workers have 0 records to finish.\nok   Dead letters: 0.\n" in well.output
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


NASTY = "Quake [/] [video] :fire: \x1b[31m \u202ehits\u202c city"


def test_headlines_are_shown_as_they_are_and_never_obeyed(settings):
    prepare(settings)
    log = [fingerprinted(f"s{n}", "quake city", n, publisher=f"p{n}") for n in range(6)]
    log = [msgspec.structs.replace(one, story=msgspec.structs.replace(one.story, title=NASTY)) for one in log]
    rule = DetectRule(threshold=3, window=HOUR, min_publishers=2)
    steps = list(replay(enumerate(log), detect_rule=rule))
    writer = Writer(settings.postgres)
    writer.write([record for step in steps for record in (step.assignment, *step.clusters, *step.updates)])
    writer.close()
    updates = [update for step in steps for update in step.updates]
    send(settings, "events", [(b"k", encode(update)) for update in updates])
    for arguments in (
        ["report", "breaking"],
        ["report", "event", updates[0].event_id],
        ["events"],
        ["report", "breaking", "--json"],
    ):
        result = run(*arguments, settings=settings)
        assert result.exit_code == 0, result.output
        shown = " ".join(result.output.split())
        assert "[/]" in shown
        assert "[video]" in shown
        assert ":fire:" in shown
        assert not {"\x1b", "\u202e", "\u202c"} & set(result.output)


def test_a_letter_is_shown_without_what_a_terminal_obeys(settings):
    prepare(settings)

    async def bury():
        sender = PackedProducer(settings)
        forged = [("newsburst-requeued", b"many"), ("newsburst-partition", b"x"), ("trace", b"\x1b[2J")]
        await sender.send(
            [Message(settings.topic("stories.dlq"), b"\x1b]0;title\x07", b"a\n\x1b[31mred\xe2\x80\xae", 0, forged)]
        )
        await sender.close()

    asyncio.run(bury())
    (letter,) = json.loads(run("dlq", "list", "--json", settings=settings).output)
    assert letter["requeued"] == 0
    shown = run("dlq", "show", letter["name"], settings=settings).output
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert "a\n\\x1b[31mred\\u202e" in shown


@pytest.mark.parametrize("width", [80, 60, 200])
def test_tables_break_no_words_dates_or_urls(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    rows = [
        {
            "at": datetime(2026, 11, 21, 9, 30, tzinfo=UTC),
            "publisher": "Frankfurter Allgemeine",
            "headline": "Quake hits city " * 4,
            "url": "https://news.example/2026/11/21/a-rather-long-address-of-a-story.html",
        }
    ]  # fmt: skip
    console = Console(width=width, file=StringIO(), markup=False)
    monkeypatch.setattr(output, "console", console)
    print_rows(rows, list(rows[0]), "Stories")
    shown = console.file.getvalue()
    for whole in ("2026-11-21 09:30:00Z", rows[0]["url"], "Allgemeine"):
        assert whole in shown


def test_the_workers_go_on_where_they_are_told_to(settings):
    prepare(settings)
    send(settings, "stories", [(b"en", GOOD.encode())] * 3)
    (partition,) = {record.partition for record in read(settings, "stories")}
    result = run("seek", f"stories:{partition}:2", settings=settings)
    assert result.exit_code == 0, result.output
    assert f"go on at 2 in partition {partition}" in result.output
    result = run("seek", f"stories:{partition}:0", settings=settings)
    assert "they were at 2" in result.output
    for wrong, words in (
        ("stories:9:0", "has no partition 9"),
        (f"stories:{partition}:4", "has the offsets 0 to 3, not 4"),
        ("stories", "is no place"),
    ):
        assert words in run("seek", wrong, settings=settings).output


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


def test_replay_passes_over_bad_lines_when_asked(tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_text(f"{GOOD}\nnonsense\n{GOOD.replace('a.example/b', 'a.example/c')}\n")
    assert run("replay", str(path), "--out", str(tmp_path / "out")).exit_code == 1
    result = run("replay", str(path), "--out", str(tmp_path / "out"), "--skip")
    assert result.exit_code == 0
    assert "line 2: Not JSON" in result.stderr
    assert json.loads(result.stdout)["stories"] == 2


def test_tune_says_at_once_that_it_cannot_draw(few_stories, monkeypatch):
    monkeypatch.setattr(picture, "find_spec", lambda _: None)
    monkeypatch.setattr(tune, "load_stories", lambda *_: pytest.fail("It began its work."))
    result = run("tune", str(few_stories))
    assert (result.exit_code, "--no-picture" in result.output) == (1, True)


def test_what_lies_in_the_working_folder_is_not_run(settings, tmp_path):
    prepare(settings)
    (tmp_path / "agents").mkdir()
    for name in ("agents/__init__.py", "agents/worker.py", "pipeline.py", "faust.py"):
        (tmp_path / name).write_text("raise SystemExit('shadowed')")
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [NEWSBURST, "worker"], env=os.environ | settings.environment(), cwd=tmp_path, stdout=log, stderr=log
        )
    try:
        deadline = time.monotonic() + 60
        while "newsburst worker: ready" not in (tmp_path / "log").read_text():
            assert process.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.2)
    finally:
        process.terminate()
        process.wait(30)
    assert not (tmp_path / f"{settings.topic_prefix}-data").exists(), "Faust's folder is not made"


def test_the_doctor_tells_of_clocks(settings):
    prepare(settings)
    result = run("doctor", settings=settings)
    assert result.exit_code == 0, result.output
    assert "The clocks of Kafka and of this machine agree" in result.output
    assert "The clocks of Postgres and of this machine agree" in result.output
    assert doctor._clock("Kafka", 864_000.0) == (
        False,
        "The clock of Kafka is 864,000 s ahead of this machine's: set them by NTP.",
    )


def test_all_topics_take_the_time_of_the_broker_and_are_mended_if_not(settings):
    prepare(settings)
    late = datetime(2020, 1, 1, tzinfo=UTC)

    async def write():
        producer = AIOKafkaProducer(bootstrap_servers=settings.kafka)
        await producer.start()
        for topic in all_topics(settings):
            await producer.send_and_wait(
                topic.name, b"{}", b"key", partition=0, timestamp_ms=int(late.timestamp() * 1_000)
            )
        await producer.stop()

    asyncio.run(write())
    for topic in all_topics(settings):
        (record,) = asyncio.run(_read(settings, topic.name))
        assert from_millis(record.timestamp) > datetime.now(UTC) - timedelta(minutes=5), topic.name

    async def spoil():
        async with admin(settings) as client:
            resource = ConfigResource(ConfigResourceType.TOPIC, settings.topic("assignments"))
            resource.configs = {"message.timestamp.type": "CreateTime", "retention.ms": "5000000000"}
            await client.alter_configs([resource])

    asyncio.run(spoil())
    assert (
        f"Topic {settings.topic('assignments')} is not configured" in run("topics", "check", settings=settings).output
    )
    assert settings.topic("assignments") in run("topics", "create", settings=settings).output
    assert run("topics", "check", settings=settings).exit_code == 0


def test_changelogs_are_compacted_within_the_hour(settings):
    for topic in all_topics(settings):
        if topic.config["cleanup.policy"] == "compact":
            assert int(topic.config["max.compaction.lag.ms"]) <= 3_600_000
            assert int(topic.config["segment.ms"]) <= 3_600_000
            assert float(topic.config["min.cleanable.dirty.ratio"]) <= 0.5
        if topic.name.endswith(".dlq"):
            assert int(topic.config["retention.bytes"]) > 0


@pytest.mark.parametrize("seconds", [0.3, 0.6, 1.0])
def test_ctrl_c_while_it_loads_ends_it_in_peace(seconds):
    code = "import sys; sys.argv[1:] = ['doctor']\nfrom pipeline.command import main\nprint(flush=True)\nmain()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[0]
    assert "Traceback" not in said
    assert process.returncode in {1, 130, -signal.SIGINT}  # the last where it was ending by itself already
