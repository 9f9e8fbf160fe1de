"""The papers' experiments again: the lecture's table, and the notebook's count of pairs that are found."""

import json
import random

import numpy as np
import pytest
from click.testing import CliRunner

from pipeline.cli import main
from pipeline.corpus.measure import Choice, measure
from pipeline.similarity.curve import bands_for, candidate_probability, expected_errors
from tests.sample import stories


def run(*arguments, ok=True):
    result = CliRunner().invoke(main, ["curve", *map(str, arguments)])
    assert (result.exit_code == 0) is ok, result.output
    return result.output


@pytest.mark.parametrize(
    ("similarity", "probability"),
    [(0.2, 0.006), (0.3, 0.047), (0.4, 0.186), (0.5, 0.470), (0.6, 0.802), (0.7, 0.975), (0.8, 0.9996)],
)
def test_the_lectures_table_of_20_bands_of_5_rows(similarity, probability):
    """MSBD5001, Foundations of Data Analytics, HKUST: MinHash and LSH, page 50."""
    found = float(candidate_probability(np.array([similarity]), 20, 5)[0])
    assert found == pytest.approx(probability, abs=0.0005)


def test_the_lectures_two_examples():
    """Of pairs of similarity .8 about one in 3,000 is missed, and 4.74 % of those of .3 are candidates (pages 43, 44)."""
    missed, found = (
        1 - candidate_probability(np.array([0.8]), 20, 5)[0],
        candidate_probability(np.array([0.3]), 20, 5)[0],
    )
    assert missed == pytest.approx(0.00035, abs=0.00001)
    assert found == pytest.approx(0.0474, abs=0.0002)
    (described,) = json.loads(run("20x5", "--similarity", 0.8, "--json"))
    assert described["probability"] == pytest.approx(1 - missed)


def articles(count, seed=4):
    """Texts of some 100 words from real headlines; every other one is an earlier one with a few words changed."""
    choose = random.Random(seed)
    titles = [story.title for story in stories()]
    words = [word for title in titles[:2_000] for word in title.split()]
    texts = []
    for number in range(count):
        if number % 2:
            parts = choose.choice(texts[-20:]).split()
            for _ in range(choose.randint(0, 6)):
                parts[choose.randrange(len(parts))] = choose.choice(words)
            texts.append(" ".join(parts))
        else:
            texts.append(" ".join(choose.sample(titles, 10)))
    return texts


def test_the_notebooks_count_of_similar_pairs_that_each_number_of_bands_finds():
    """Lyra, Document deduplication using LSH: 100 values, shingles of 5 characters, 2, 5, 10 and 20 bands, 1,000 documents.

    There it was Reuters' RCV1, and all 27 pairs of similarity .9 and more were found by 20 bands, among 110 candidates.
    """
    choices = [Choice(bands, 100 // bands) for bands in (2, 5, 10, 20)]
    sample = measure(articles(1_000), "characters", 5, choices)
    assert len(sample.similarities) == 499_500
    near = sample.similarities[sample.similarities >= 0.9]
    assert len(near) > 200
    shares = []
    for number, choice in enumerate(choices):
        found, wanted = sample.recall(number, 0.9)
        assert wanted == len(near)
        likely = candidate_probability(near, *choice)
        deviation = float(np.sqrt((likely * (1 - likely)).sum()))
        assert abs(found - likely.sum()) <= 4 * deviation + 1
        shares.append(found / wanted)
    assert shares == sorted(shares)
    assert shares[0] < 0.5
    assert shares[-1] == 1
    candidates = [int(each.sum()) for each in sample.candidates]
    assert candidates == sorted(candidates)
    assert candidates[-1] < 5_000  # of 499,500 pairs that would have to be compared


def test_a_sample_lies_on_the_curve():
    choice = Choice(20, 3)
    sample = measure([story.title for story in stories()[:600]], "characters", 5, [choice])
    for each in sample.ranges(0, choice):
        assert abs(each.found - each.expected) < 5 * max(1, each.expected) ** 0.5 + 1
    assert sum(each.pairs for each in sample.ranges(0, choice)) == len(sample.similarities)


@pytest.mark.parametrize(
    ("similarity", "recall", "size"), [(0.8, 0.99, 120), (0.5, 0.9, 128), (0.95, 0.999, 64), (1.0, 0.99, 8)]
)
def test_the_bands_that_are_chosen_find_as_many_as_wanted_and_longer_ones_do_not(similarity, recall, size):
    bands, rows = bands_for(similarity, recall, size)
    assert bands * rows <= size
    assert candidate_probability(np.array([similarity]), bands, rows)[0] >= recall
    longer = rows + 1
    assert longer > size or candidate_probability(np.array([similarity]), size // longer, longer)[0] < recall


def test_what_signatures_cannot_do_is_said():
    with pytest.raises(
        ValueError, match="Signatures of 4 rows do not find pairs of similarity 0.2 with probability 0.99"
    ):
        bands_for(0.2, 0.99, 4)


def test_expected_errors_are_the_areas_beside_the_step():
    false, missed = expected_errors(0.5, 1, 1)  # the diagonal
    assert false == pytest.approx(0.25, abs=1e-3)
    assert missed == pytest.approx(0.25, abs=1e-3)


def test_the_curve_is_printed_and_drawn(tmp_path):
    paths = [tmp_path / "curve.svg", tmp_path / "curve.png"]
    output = run("20x5", "10x10", "--picture", paths[0], "--picture", paths[1])
    assert "99.96 %" in output
    assert "20x5  0 ▁" in output
    assert "10 bands x 10 rows" in paths[0].read_text().replace("<!-- ", "").replace(" -->", "")
    assert paths[1].read_bytes().startswith(b"\x89PNG")
    assert max(map(len, output.splitlines()[:-1])) <= 80


def test_a_sample_is_measured(tmp_path):
    (tmp_path / "docs.txt").write_text("the same line\nthe same line\nanother one entirely\n")
    output = run("20x5", "--sample", tmp_path / "docs.txt", "--similarity", 0.9)
    assert "3 documents, 3 pairs" in output
    assert "of 1 pairs from 0.9 on 1 are found" in output
    (described,) = json.loads(run("20x5", "--sample", tmp_path / "docs.txt", "--json"))
    assert described["sample"]["candidates"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["20"], "'20' is no bands and rows, such as 20x5"),
        (["0x5"], "'0x5' is no bands and rows"),
        (["20x5", "--picture", "curve.gif"], "should end in .svg or .png"),
        (["--similarity", "0.01", "--size", "10"], "Ask for a larger size, or for less"),
        (["--sample", "gone"], "does not exist"),
    ],
)
def test_what_people_get_wrong_is_one_clear_line(arguments, said):
    output = run(*arguments, ok=False)
    assert said in output
    assert "Traceback" not in output


def test_a_malformed_sample_names_the_line(tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"text": "a"}\nnonsense\n')
    assert "docs.jsonl, line 2: Not JSON" in run("--sample", tmp_path / "docs.jsonl", ok=False)
