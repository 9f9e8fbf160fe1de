"""Dedupe: against a comparison of all pairs, through kills, and with what people get wrong."""

import fcntl
import gzip
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from pipeline.cli import main

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "samples" / "uci_sample_3days.jsonl.gz"


def run(*arguments, ok=True, stdin=None):
    """The command in this process."""
    result = CliRunner().invoke(main, ["dedupe", *map(str, arguments)], input=stdin)
    assert (result.exit_code == 0) is ok, result.output
    return result


def shingles(text, width=5):
    """A definition of our own: runs of characters of the lower-cased text with single spaces."""
    text = " ".join(text.lower().split())
    return {text[at : at + width] for at in range(max(1, len(text) - width + 1))} if text else set()


def near(texts, least):
    """All pairs of at least this Jaccard similarity, by comparing all."""
    sets = [shingles(text) for text in texts]
    every = combinations(range(len(texts)), 2)
    shares = ((a, b, len(sets[a] & sets[b]) / max(1, len(sets[a] | sets[b]))) for a, b in every)
    return {(a, b): share for a, b, share in shares if share >= least}


def edited(count, seed=1):
    """Headlines of made-up words, many of them edited from earlier ones."""
    choose = random.Random(seed)
    words = ["".join(choose.choices("abcdefghijklmnop", k=choose.randint(2, 8))) for _ in range(400)]
    texts = []
    for _ in range(count):
        if texts and choose.random() < 0.5:
            parts = choose.choice(texts[-50:]).split()
            for _ in range(choose.choice((0, 1, 1, 2))):
                parts[choose.randrange(len(parts))] = choose.choice(words)
            texts.append(" ".join(parts))
        else:
            texts.append(" ".join(choose.choices(words, k=10)))
    return texts


def write(path, texts):
    path.write_text("".join(json.dumps({"id": number, "text": text}) + "\n" for number, text in enumerate(texts)))
    return path


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_pairs_groups_and_what_is_kept_are_those_of_a_comparison_of_all_pairs(tmp_path):
    texts = edited(600)
    run(write(tmp_path / "in.jsonl", texts), "--pairs", "pairs.jsonl", "--groups", "groups.jsonl", "--out", "out.jsonl",
        "--bands", 60, "--rows", 2)  # fmt: skip
    wanted = near(texts, 0.8)
    found = {(pair["a"], pair["b"]): pair["similarity"] for pair in lines_of(tmp_path / "pairs.jsonl")}
    assert found == {pair: round(share, 4) for pair, share in wanted.items()}
    parents = list(range(len(texts)))
    for a, b in sorted(wanted):
        ours, theirs = parents[a], parents[b]
        parents = [min(ours, theirs) if parent in {ours, theirs} else parent for parent in parents]
    groups = lines_of(tmp_path / "groups.jsonl")
    members = [[member["id"] for member in group["members"]] for group in groups]
    by_parent = {parent: [number for number, of in enumerate(parents) if of == parent] for parent in parents}
    assert members == [group for _, group in sorted(by_parent.items()) if len(group) > 1]
    assert [group["representative"] for group in groups] == [group[0] for group in members]
    kept = [json.loads(line)["id"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert kept == sorted(set(parents))
    for group in groups:
        for member in group["members"]:
            a, b = shingles(texts[group["representative"]]), shingles(texts[member["id"]])
            assert member["similarity"] == round(len(a & b) / len(a | b), 4)


def test_copies_are_pairs_with_each_other_and_with_what_is_near(tmp_path):
    texts = [
        "alpha beta gamma delta",
        "nothing like it",
        "alpha beta gamma delta",
        "alpha beta gamma delta!",
        "ALPHA  beta gamma delta",
    ]
    run(write(tmp_path / "in.jsonl", texts), "--pairs", "-")
    output = run("in.jsonl", "--pairs", "-").stdout
    pairs = {(pair["a"], pair["b"]): pair["similarity"] for pair in map(json.loads, output.splitlines())}
    assert pairs == {(0, 2): 1.0, (0, 4): 1.0, (2, 4): 1.0, (0, 3): 0.9474, (2, 3): 0.9474, (3, 4): 0.9474}


@pytest.mark.parametrize(("keep", "kept"), [("first", [0, 3]), ("last", [2, 3]), ("longest", [1, 3])])
def test_which_document_stands_for_its_group(tmp_path, keep, kept):
    texts = ["one two three four five six", "one two three four five six!!", "one two three four five six!", "else"]
    run(write(tmp_path / "in.jsonl", texts), "--out", "out.jsonl", "--keep", keep)
    assert [row["id"] for row in lines_of(tmp_path / "out.jsonl")] == kept


def outputs(folder):
    return {path.name: path.read_bytes() for path in folder.glob("out.*")}


ASKED = ("--pairs", "out.pairs", "--groups", "out.groups", "--out", "out.jsonl")


def test_neither_jobs_nor_memory_nor_packing_change_a_byte(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.corpus.sign.MOST", 100)
    write(tmp_path / "in.jsonl", edited(500))
    found = []
    for jobs, memory in ((1, "4g"), (2, "1m")):
        run("in.jsonl", *ASKED, "--jobs", jobs, "--memory", memory)
        found.append(outputs(tmp_path))
    assert found[0] == found[1]
    run("in.jsonl", "--out", "packed.jsonl.zst")
    run("packed.jsonl.zst", "--out", "again.jsonl.gz")
    run("again.jsonl.gz", "--out", "plain.jsonl")
    assert (tmp_path / "plain.jsonl").read_bytes() == found[0]["out.jsonl"]


def command(*arguments):
    return [sys.executable, "-m", "pipeline.command", "dedupe", *map(str, arguments)]


@pytest.mark.parametrize("seed", range(2))
def test_a_run_that_is_killed_anywhere_goes_on_and_writes_the_same(tmp_path, seed):
    texts = edited(25_000, seed)
    arguments = command(write(tmp_path / "in.jsonl", texts), *ASKED, "--work", "work", "--jobs", 2, "--memory", "1m")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    begun = time.monotonic()
    subprocess.run(arguments, check=True, cwd=tmp_path, env=environment, capture_output=True)
    lasts = time.monotonic() - begun
    wanted = outputs(tmp_path)
    assert not (tmp_path / "work").exists()
    for name in wanted:
        (tmp_path / name).unlink()
    choose, kills, said = random.Random(seed), 0, tmp_path / "stderr.txt"
    while True:
        with said.open("wb") as errors:
            process = subprocess.Popen(arguments, cwd=tmp_path, env=environment, stderr=errors)
        try:
            process.wait(choose.uniform(0.3, 1) * lasts)
            break
        except subprocess.TimeoutExpired:
            children = psutil.Process(process.pid).children(recursive=True)
            process.kill()
            process.wait()
            kills += 1
            _, alive = psutil.wait_procs(children, 10)
            assert not alive
    assert process.returncode == 0, said.read_text()
    assert outputs(tmp_path) == wanted
    assert not (tmp_path / "work").exists()
    assert not [*tmp_path.glob("*.part")]


def test_an_interrupted_run_says_what_it_goes_on_with(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.corpus.sign.MOST", 100)
    write(tmp_path / "in.jsonl", edited(1_000))

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pipeline.corpus.dedupe.join_bands", interrupted)
        run("in.jsonl", "--out", "out.jsonl", ok=False)
    (folder,) = tmp_path.glob(".newsburst-dedupe-*")
    (folder / "signed.json").unlink()
    (folder / "collected.json").unlink(missing_ok=True)
    assert not (tmp_path / "out.jsonl").exists()


def test_malformed_records_are_named_counted_and_left_out(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b'{"text": "a story"}\nnonsense\n{"text": "another"}\n{"text": "\xff"}\n')
    result = run("in.jsonl", "--out", "out.jsonl")
    assert "in.jsonl, line 2: Not JSON" in result.stderr
    assert "in.jsonl, line 4: Not UTF-8" in result.stderr
    assert "2 malformed records left out" in result.stdout
    assert (tmp_path / "out.jsonl").read_bytes() == b'{"text": "a story"}\n{"text": "another"}\n'


def test_a_wrong_encoding_is_said_once(tmp_path):
    (tmp_path / "in.txt").write_bytes("Grüße aus München\nGrüße aus Köln\nplain\n".encode("latin-1"))
    result = run("in.txt")
    assert result.stderr == "in.txt, line 1: Not UTF-8: byte 0xfc at 2. --encoding says what it is, such as latin-1.\n"
    assert "2 malformed records left out" in result.stdout
    assert "3 documents: 3 kept" in run("in.txt", "--encoding", "latin-1").stdout


def test_a_strict_run_ends_at_the_first_malformed_record_every_time(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b'{"text": "a story"}\nnonsense\n')
    for _ in range(2):
        result = run("in.jsonl", "--out", "out.jsonl", "--strict", ok=False)
        assert "Error: in.jsonl, line 2: Not JSON" in result.output
    assert not (tmp_path / "out.jsonl").exists()


def test_several_files_are_one_collection(tmp_path):
    (tmp_path / "a.txt").write_text("the very same line of text\n")
    (tmp_path / "b.txt").write_text("something else\nthe very same line of text.\n")
    run("a.txt", "b.txt", "--pairs", "pairs.jsonl", "--out", "out.txt")
    assert lines_of(tmp_path / "pairs.jsonl") == [{"a": "a.txt:1", "b": "b.txt:2", "similarity": 0.9565}]
    assert (tmp_path / "out.txt").read_text() == "the very same line of text\nsomething else\n"


def test_files_whose_records_cannot_stand_together_are_refused_for_out(tmp_path):
    (tmp_path / "a.csv").write_text("id,text\n1,a\n")
    (tmp_path / "b.csv").write_text("text,id\na,1\n")
    (tmp_path / "c.txt").write_text("a\n")
    assert "different headers" in run("a.csv", "b.csv", "--out", "out", ok=False).output
    assert "several formats (csv, lines)" in run("a.csv", "c.txt", "--out", "out", ok=False).output


def test_standard_input_is_read_like_a_file(tmp_path):
    texts = edited(50)
    content = write(tmp_path / "in.jsonl", texts).read_bytes()
    run("in.jsonl", "--out", "out.jsonl")
    assert run("-", "--out", "-", stdin=content).stdout == (tmp_path / "out.jsonl").read_text()
    assert run("-", "--out", "-", stdin=gzip.compress(content)).stdout == (tmp_path / "out.jsonl").read_text()
    assert not [*tmp_path.glob(".newsburst*")]


def test_a_csv_file_keeps_its_header_and_rows_as_they_are(tmp_path):
    content = b'id,title,body\n1,"A ""quoted"" title","two\nlines"\n2,"a ""QUOTED"" title",two lines\n3,x,\xc3\xa9\n'
    (tmp_path / "in.csv").write_bytes(content)
    run("in.csv", "--out", "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == content.replace(b'2,"a ""QUOTED"" title",two lines\n', b"")


def test_empty_files_and_empty_texts(tmp_path):
    (tmp_path / "in.jsonl").write_text("")
    assert "0 documents: 0 kept" in run("in.jsonl", *ASKED).stdout
    write(tmp_path / "in.jsonl", ["", " ", "a"])
    result = run("in.jsonl", *ASKED)
    assert "3 documents: 3 kept" in result.stdout
    assert "2 documents without text" in result.stdout
    assert lines_of(tmp_path / "out.pairs") == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.jsonl"], "does not exist"),
        (["in.jsonl", "--encoding", "klingon"], "'klingon' is no encoding that Python knows"),
        (["in.jsonl", "--encoding", "utf-16"], "Lines do not end with one byte in utf-16"),
        (["in.jsonl", "--similarity", "0.05", "--recall", "0.999"], "do not find pairs of similarity 0.05"),
        (["in.jsonl", "--rows", "3"], "--rows needs --bands"),
        (["in.jsonl", "--bands", "200"], "200 bands need at least as many rows; --size is 120"),
        (["in.jsonl", "--memory", "lots"], "'lots' is no size"),
        (["in.jsonl", "--pairs", "-", "--groups", "-"], "Only one thing can go to the standard output"),
        (["-", "-"], "Standard input can be read only once"),
        (["wide.txt"], "wide.txt: the file is in UTF-16; save it as UTF-8"),
        (["cut.gz"], "cut.gz: the packed file is cut off or damaged"),
        (["in.jsonl", "--out", "no/such/folder"], "no/such/folder"),
        (["in.jsonl", "--work", "."], "holds other files"),
    ],
)
def test_what_people_get_wrong_is_one_clear_line(tmp_path, arguments, said):
    write(tmp_path / "in.jsonl", ["a story"])
    (tmp_path / "wide.txt").write_bytes("a story\n".encode("utf-16"))
    (tmp_path / "cut.gz").write_bytes(SAMPLE.read_bytes()[:10_000])
    output = run(*arguments, ok=False).output
    assert said in output
    assert "Traceback" not in output


def test_a_full_disk_is_one_clear_line_and_the_run_goes_on_afterwards(tmp_path):
    write(tmp_path / "in.jsonl", edited(2_000))
    arguments, environment = (
        command("in.jsonl", "--out", "out.jsonl", "--work", "work"),
        {**os.environ, "PYTHONPATH": str(ROOT)},
    )

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))

    result = subprocess.run(
        arguments, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True, preexec_fn=small_files
    )
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1, result.stderr
    assert not (tmp_path / "out.jsonl").exists()
    subprocess.run(arguments, check=True, cwd=tmp_path, env=environment, capture_output=True)
    run("in.jsonl", "--out", "whole.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_a_folder_of_another_run_or_in_use_is_not_touched(tmp_path, monkeypatch):
    write(tmp_path / "in.jsonl", ["a story"])
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.corpus.dedupe.join_bands", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            CliRunner().invoke(main, ["dedupe", "in.jsonl", "--work", "work"], catch_exceptions=False)
    assert (
        "rows was 6, is 4, similarity was 0.8, is 0.7"
        in run("in.jsonl", "--work", "work", "--similarity", 0.7, ok=False).output
    )
    with (tmp_path / "work" / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "Another run works in work" in run("in.jsonl", "--work", "work", ok=False).output
    run("in.jsonl", "--work", "work")


def test_estimates_are_of_the_signature_that_was_asked_for(tmp_path):
    texts = edited(300)
    write(tmp_path / "in.jsonl", texts)
    run("in.jsonl", "--pairs", "pairs.jsonl", "--estimate", "--size", 400, "--bands", 60, "--rows", 2)
    found = {(pair["a"], pair["b"]): pair["similarity"] for pair in lines_of(tmp_path / "pairs.jsonl")}
    wanted = near(texts, 0.0)
    assert all(abs(share - wanted[pair]) < 0.12 for pair, share in found.items())  # six standard deviations
    assert {pair for pair, share in wanted.items() if share > 0.92} <= set(found)


def test_the_shingles_of_long_texts_are_longer(tmp_path):
    write(tmp_path / "short.jsonl", ["a headline of a story"] * 3)
    write(tmp_path / "long.jsonl", ["a body of a story " * 50] * 3)
    assert "Shingles of 5 characters" in run("short.jsonl").stdout
    assert "Shingles of 9 characters" in run("long.jsonl").stdout
    assert "Shingles of 3 words" in run("long.jsonl", "--words").stdout
    assert "Shingles of 4 words" in run("long.jsonl", "--words", "--width", 4).stdout


def test_a_pipe_is_read_like_a_file(tmp_path):
    write(tmp_path / "in.jsonl", edited(50))
    run("in.jsonl", "--out", "out.jsonl")
    os.mkfifo(tmp_path / "pipe")
    feeding = subprocess.Popen(["sh", "-c", "cat in.jsonl > pipe"], cwd=tmp_path)
    run("pipe", "--format", "jsonl", "--out", "piped.jsonl")
    feeding.wait()
    assert (tmp_path / "piped.jsonl").read_bytes() == (tmp_path / "out.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "in.jsonl"], "in.jsonl is read, and cannot be written at the same time"),
        (["--pairs", "a", "--groups", "./a"], "Two outputs have the same name"),
        (["--groups", "gone/groups.jsonl"], "there is no folder gone"),
    ],
)
def test_outputs_are_checked_before_the_work(tmp_path, arguments, said):
    content = write(tmp_path / "in.jsonl", ["a story"] * 3).read_bytes()
    assert said in run("in.jsonl", *arguments, ok=False).output
    assert (tmp_path / "in.jsonl").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_file_that_changes_meanwhile_is_noticed(tmp_path, monkeypatch):
    from pipeline.corpus import dedupe

    write(tmp_path / "in.jsonl", ["a story"] * 3)
    join_bands = dedupe.join_bands

    def meanwhile(*arguments, **named):
        write(tmp_path / "in.jsonl", ["another story"] * 4)
        join_bands(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(dedupe, "join_bands", meanwhile)
        assert "was changed while it was read" in run("in.jsonl", "--out", "out.jsonl", ok=False).output
    assert not (tmp_path / "out.jsonl").exists()
    run("in.jsonl", "--out", "out.jsonl")
    assert len(lines_of(tmp_path / "out.jsonl")) == 1


def test_a_work_folder_is_left_with_what_is_not_ours(tmp_path):
    write(tmp_path / "in.jsonl", ["a story"] * 3)
    (tmp_path / "work").mkdir()
    run("in.jsonl", "--work", "work")
    assert not (tmp_path / "work").exists()


def test_ctrl_c_ends_all_processes_in_peace(tmp_path):
    write(tmp_path / "in.jsonl", edited(30_000))
    process = subprocess.Popen(
        command("in.jsonl", "--out", "out.jsonl", "--memory", "1m"),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not [*tmp_path.glob(".newsburst-dedupe-*/batch-*.npz")]:
        assert process.poll() is None
        time.sleep(0.02)
    children = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode in {1, 130}
    assert "Traceback" not in said
    _, alive = psutil.wait_procs(children, 10)
    assert not alive


def test_without_compiled_kernels_the_files_are_the_same(tmp_path):
    write(tmp_path / "in.jsonl", edited(300))
    run("in.jsonl", *ASKED)
    compiled = outputs(tmp_path)
    program = "import sys; sys.modules['numba'] = None; from pipeline.cli import main; main()"
    arguments = [sys.executable, "-c", program, "dedupe", "in.jsonl", *ASKED]
    subprocess.run(arguments, check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert outputs(tmp_path) == compiled


def test_devices_pipes_and_links_are_written_to_and_not_replaced(tmp_path):
    write(tmp_path / "in.jsonl", ["a story"] * 3)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("file")
    with subprocess.Popen(["cat", "pipe"], cwd=tmp_path, stdout=subprocess.PIPE) as reading:
        run("in.jsonl", "--pairs", "pipe", "--groups", "/dev/null", "--out", "link")
        assert reading.communicate()[0].count(b"\n") == 3
    assert (tmp_path / "pipe").is_fifo()
    assert Path(os.devnull).is_char_device()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes().count(b"\n") == 1


@pytest.mark.parametrize("row", ['2,"never closed', '2,"x"y'])
def test_a_malformed_row_of_csv_is_named_when_the_width_is_chosen_too(tmp_path, row):
    (tmp_path / "in.csv").write_text(f"id,text\n1,a story\n{row}\n3,another\n")
    result = run("in.csv", "--out", "out.csv")
    assert "in.csv, line 3: Not CSV" in result.stderr
    assert (tmp_path / "out.csv").read_text() == "id,text\n1,a story\n3,another\n"


def test_marks_tell_words_apart(tmp_path):
    (tmp_path / "in.txt").write_text("\u0643\u064e\u062a\u064e\u0628\u064e\n\u0643\u064f\u062a\u0650\u0628\u064e\n")
    run("in.txt", "--words", "--out", "out.txt")
    assert (tmp_path / "out.txt").read_text() == (tmp_path / "in.txt").read_text()


def test_a_similarity_that_is_no_number_is_refused(tmp_path):
    write(tmp_path / "in.jsonl", ["a story"])
    assert "not nan and 0.99" in run("in.jsonl", "--similarity", "nan", ok=False).output
