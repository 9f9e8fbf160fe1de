"""The diagram of the rooms is the code's."""

from pathlib import Path

from tests.architecture import arrows, drawing

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


def test_the_page_shows_the_rooms_as_they_are():
    assert f"```mermaid\n{drawing()}\n```" in PAGE.read_text(encoding="utf-8"), (
        "Paste what `python -m tests.architecture` prints."
    )


def test_no_arrow_goes_in_a_circle():
    left = arrows()
    while rest := [arrow for arrow in left if arrow[1] in {here for here, _ in left}]:
        assert len(rest) < len(left), rest
        left = rest


def test_the_core_knows_nothing_of_what_drives_it():
    known = {here: {there for start, there in arrows() if start == here} for here, _ in arrows()}
    core = {"pipeline.similarity", "pipeline.languages", "pipeline.records", "pipeline.stages"}
    assert known["pipeline.stages"] <= core
    assert known["pipeline.stages.cluster"] == known["pipeline.stages.detect"] == {"pipeline.stages"}
