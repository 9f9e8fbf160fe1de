"""What comes from elsewhere is shown as text."""

import csv
import io
import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from pipeline.printed import csv_text, json_text, shown


def obeyed(text):
    return [
        sign
        for sign in text
        if unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and sign not in "\u200c\u200d"
    ]


@given(st.text())
def test_nothing_that_is_shown_is_obeyed(text):
    assert obeyed(shown(text)) == []
    assert shown(shown(text)) == shown(text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_says_the_same_without_what_is_obeyed(text):
    assert obeyed(json_text({"title": text})) == []
    assert json.loads(json_text({"title": text})) == {"title": text}


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"])), min_size=1))
def test_no_cell_is_a_formula_and_numbers_stay_numbers(titles):
    rows = [{"title": title, "change": -1.5} for title in titles]
    read = list(csv.DictReader(io.StringIO(csv_text(rows))))
    assert [row["title"].removeprefix("'") for row in read] == [title.removeprefix("'") for title in titles]
    assert not any(row["title"].startswith(("=", "+", "-", "@")) for row in read)
    assert {row["change"] for row in read} == {"-1.5"}
