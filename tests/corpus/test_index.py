"""The index: against a comparison with every document."""

import json

import pytest
from click.testing import CliRunner

from pipeline.cli import main
from tests.corpus.test_dedupe import edited, shingles, write


def run(*arguments, ok=True, stdin=None):
    result = CliRunner().invoke(main, ["similar", *map(str, arguments)], input=stdin)
    assert (result.exit_code == 0) is ok, result.output
    return result.output


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def ask(*arguments):
    return [answer["similar"] for answer in json.loads(run("--index", "an.index", *arguments, "--json"))]


def test_the_most_similar_documents_are_found_and_ranked_exactly(tmp_path):
    texts = edited(400)
    run(write(tmp_path / "in.jsonl", texts), "--index", "an.index", "--recall", 0.9999)
    for asked in (0, 17, 399):
        sets = [shingles(text) for text in texts]
        shares = {n: len(sets[asked] & there) / len(sets[asked] | there) for n, there in enumerate(sets) if n != asked}
        wanted = sorted((-round(share, 4), n) for n, share in shares.items() if share >= 0.6)[:10]
        (found,) = ask("--to", asked, "--similarity", 0.6)
        assert [(-row["similarity"], row["id"]) for row in found] == wanted
        (again,) = ask("--to", texts[asked], "--similarity", 0.6)
        assert (again[0]["similarity"], again[0]["distance"]) == (1.0, 0)


def test_all_documents_within_so_many_bits_are_found_the_nearest_first(tmp_path):
    texts = edited(400)
    run(write(tmp_path / "in.jsonl", texts), "--index", "an.index")
    (every,) = ask("--to", "5", "--within", 64, "--limit", 1_000)
    assert len(every) == 399
    distances = [row["distance"] for row in every]
    assert distances == sorted(distances)
    for bits in (0, 3, 20):
        (found,) = ask("--to", "5", "--within", bits, "--limit", 1_000)
        assert found == [row for row in every if row["distance"] <= bits]
    (few,) = ask("--to", "5", "--within", 64, "--limit", 3)
    assert few == every[:3]


def test_a_file_is_asked_document_by_document(tmp_path):
    write(tmp_path / "in.jsonl", ["an earthquake strikes nepal", "apple buys beats"])
    run("in.jsonl", "--index", "an.index")
    (tmp_path / "ask.csv").write_text("id,title\nx,An earthquake strikes Nepal!\ny,Nothing\n")
    assert [[row["id"] for row in found] for found in ask("--to", "ask.csv")] == [[0], []]
    output = run("--index", "an.index", "--to", "-", stdin="Apple buys Beats\n")
    assert "apple buys beats" in output


def test_making_and_asking_in_one_go(tmp_path):
    write(tmp_path / "in.jsonl", ["an earthquake strikes nepal"])
    output = run("in.jsonl", "--index", "an.index", "--to", "an earthquake strikes tibet", "--similarity", 0.4)
    assert "1 document in an.index" in output
    assert "an earthquake strikes nepal" in output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["an.index", "in.jsonl"]


def test_malformed_records_are_not_in_the_index(tmp_path):
    (tmp_path / "in.jsonl").write_text(
        '{"id": 1, "text": "the story of a cat"}\nnonsense\n{"id": 2, "text": "the story of a rat"}\n'
    )
    assert "2 documents in an.index" in run("in.jsonl", "--index", "an.index")
    (found,) = ask("--to", "2")
    assert [row["id"] for row in found] == [1]


def test_an_empty_text_is_similar_to_nothing(tmp_path):
    write(tmp_path / "in.jsonl", ["", "a story"])
    run("in.jsonl", "--index", "an.index")
    assert "--to is empty" in run("--index", "an.index", "--to", " ", ok=False)
    assert ask("--to", "1", "--within", 64) == [[]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--index", "an.index"], "Give FILE... to make the index, or --to to ask it"),
        (["--index", "gone.index", "--to", "x"], "gone.index"),
        (["--index", "in.jsonl", "--to", "x"], "in.jsonl is no index, or is damaged"),
        (["in.jsonl", "--index", "no/such/place"], "no/such"),
        (["in.jsonl", "--index", "an.index", "--similarity", "0.01"], "Ask for a larger size, or for less"),
    ],
)
def test_what_people_get_wrong_is_one_clear_line(tmp_path, arguments, said):
    write(tmp_path / "in.jsonl", ["a story"])
    output = run(*arguments, ok=False)
    assert said in output
    assert "Traceback" not in output


def test_an_index_is_never_written_over_documents(tmp_path):
    content = write(tmp_path / "in.jsonl", ["a story"]).read_bytes()
    assert "cannot be written at the same time" in run("in.jsonl", "--index", "in.jsonl", ok=False)
    (tmp_path / "other.jsonl").write_bytes(content)
    assert "is there, and is no index" in run("in.jsonl", "--index", "other.jsonl", ok=False)
    assert (tmp_path / "in.jsonl").read_bytes() == (tmp_path / "other.jsonl").read_bytes() == content
    for _ in range(2):
        run("in.jsonl", "--index", "an.index")


def test_a_malformed_record_of_what_is_asked_is_named_and_passed_over(tmp_path):
    write(tmp_path / "in.jsonl", ["an earthquake strikes nepal"])
    run("in.jsonl", "--index", "an.index")
    (tmp_path / "ask.tsv").write_text("1\tan earthquake strikes nepal\nno tab\n")
    output = run("--index", "an.index", "--to", "ask.tsv")
    assert "ask.tsv, line 2: There is no tab in it" in output
    assert "Similar to document 1" in output


def test_how_documents_are_cut_is_not_asked_of_an_index(tmp_path):
    write(tmp_path / "in.jsonl", ["a story"])
    run("in.jsonl", "--index", "an.index")
    assert "chosen when the index is made" in run("--index", "an.index", "--to", "x", "--words", ok=False)
