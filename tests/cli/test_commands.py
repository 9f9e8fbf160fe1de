"""The commands, on real services where they need them."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner
from rich.console import Console

from agents.runtime.producer import Message, PackedProducer
from pipeline.cli import COMMANDS, main, output
from pipeline.cli.output import print_rows
from pipeline.codec import encode
from pipeline.replay import replay
from pipeline.stages.rules import DetectRule
from pipeline.storage.reports import REPORTS
from pipeline.storage.write import Writer
from pipeline.times import HOUR
from tests import sample
from tests.cli.run import GOOD, run
from tests.integration.helpers import prepare, read, send
from tests.make import fingerprinted

NEWSBURST = Path(sys.executable).with_name("newsburst")


def commands(group=main, path=()):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        yield (*path, name)


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


def test_a_wrong_setting_is_said_without_a_traceback():
    result = CliRunner().invoke(main, ["doctor"], env={"NEWSBURST_THRESHOLD": "many"})
    assert (result.exit_code, "NEWSBURST_THRESHOLD='many'" in result.output) == (1, True)


def test_an_unknown_event_is_named(settings):
    prepare(settings)
    result = run("report", "event", "e404", settings=settings)
    assert result.exit_code == 1
    assert "There is no event e404" in result.output


def test_reports_are_tables_json_and_csv(settings):
    prepare(settings)
    log = [fingerprinted(f"s{n}", "quake city", n, publisher=f"p{n}") for n in range(6)]
    rule = DetectRule(threshold=3, window=HOUR, min_publishers=2)
    writer = Writer(settings.postgres)
    writer.write(
        [
            row
            for step in replay(enumerate(log), detect_rule=rule)
            for row in (step.assignment, *step.clusters, *step.updates)
        ]
    )
    writer.close()
    table = run("report", "breaking-now", settings=settings)
    assert "What is breaking now?" in table.output
    assert run("report", "breaking", settings=settings).output == table.output
    (event,) = json.loads(run("report", "events", "--since", "2024-05-01", "--json", settings=settings).output)
    assert (event["stories"], event["state"]) == (6, "updated")
    lines = run("report", "event", event["event_id"], "--csv", settings=settings).output.splitlines()
    assert lines[0].startswith("story_id,crawled_at,publisher,title,url,copy_of,minutes")
    assert lines[1].startswith("s0,2024-05-01T12:00:00Z,p0,Quake city,https://news.example/s0,,0.0,100,true,")
    assert len(lines) == 1 + 6
    assert (
        len(json.loads(run("report", "event", event["event_id"], "--limit", "2", "--json", settings=settings).output))
        == 2
    )
    assert (
        run("report", "events", "--edition", "de", settings=settings).output
        == "What broke between two times? Nothing.\n"
    )
    story = run("report", "story", "https://news.example/s3", settings=settings)
    assert event["event_id"] in story.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("events", "--since", "yesterday"), "'yesterday' is no time: write 2026-11-01, 2026-11-01T12:00, or 24h"),
        (("event-curve", "e1", "--step", "0.5h"), "'0.5h' is no duration: write 15m, 1h or 1d."),
        (("events", "--json", "--csv"), "--json and --csv: give one of them."),
        (("story", "nothing"), "There is no story with the id or URL nothing."),
        (("event-curve", "e1", "--step", "0m"), "step is 00:00:00: it should be 1 second to 365 days"),
        (("nonsense",), "No such command 'nonsense'"),
    ],
)
def test_what_a_report_cannot_do_is_said_in_words(settings, arguments, sentence):
    prepare(settings)
    result = run("report", *arguments, settings=settings)
    assert result.exit_code != 0
    assert sentence in " ".join(result.output.split())


def test_every_report_is_described():
    result = CliRunner().invoke(main, ["report", "--help"])
    assert all(name in result.output for name in REPORTS)
    for name in REPORTS:
        assert f"Example: newsburst report {name}" in CliRunner().invoke(main, ["report", name, "--help"]).output


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


@pytest.mark.parametrize("width", [74, 77, 80, 81])
def test_a_table_is_as_wide_as_the_terminal_at_most(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    values = dict.fromkeys(("april", "may", "all files"), "0.921/0.821/0.868")
    rows = [
        {"measure": "two-level B-cubed", **values},
        {"measure": "delay", **values, "may": "746.1 / 3487.2 / 12013.5"},
    ]
    console = Console(width=width, file=StringIO(), markup=False)
    monkeypatch.setattr(output, "console", console)
    print_rows(rows, list(rows[0]), "3,000 stories")
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert lines[-1].endswith("┘")


def test_replay_passes_over_bad_lines_when_asked(tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_text(f"{GOOD}\nnonsense\n{GOOD.replace('a.example/b', 'a.example/c')}\n")
    assert run("replay", str(path), "--out", str(tmp_path / "out")).exit_code == 1
    result = run("replay", str(path), "--out", str(tmp_path / "out"), "--skip")
    assert result.exit_code == 0
    assert "line 2: Not JSON" in result.stderr
    assert json.loads(result.stdout)["stories"] == 2


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
