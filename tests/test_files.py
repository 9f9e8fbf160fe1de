"""Files of stories."""

import gzip
import io
import sys
from datetime import UTC, datetime

import pytest

from pipeline.files import load_stories, read_stories
from pipeline.records import InvalidRecord

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
GOOD = b'{"url": "https://a.example/b", "title": "T", "publisher": "P", "crawled_at": "2024-05-01T11:00:00Z"}'
BAD = GOOD.replace(b"2024", b"1970")


def test_lines_are_numbered_and_the_wrong_ones_say_why(tmp_path):
    path = tmp_path / "stories.jsonl"
    path.write_bytes(b"\n".join([GOOD, b"", BAD, b"nonsense", GOOD]))
    lines = list(read_stories(str(path), NOW, "en"))
    assert [(line.number, line.story is None) for line in lines] == [(1, False), (3, True), (4, True), (5, False)]
    assert "crawled_at: 1970" in lines[1].error
    assert "Not JSON" in lines[2].error


def test_gzip_is_known_by_its_content(tmp_path):
    path = tmp_path / "stories"
    path.write_bytes(gzip.compress(GOOD))
    assert len(load_stories(str(path), NOW, "en")) == 1


@pytest.mark.parametrize("content", [GOOD, gzip.compress(GOOD)])
def test_standard_input_is_read_plain_or_packed(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
    assert len(load_stories("-", NOW, "en")) == 1


def test_loading_names_the_file_and_the_line(tmp_path):
    path = tmp_path / "stories.jsonl"
    path.write_bytes(GOOD + b"\n" + BAD)
    with pytest.raises(InvalidRecord, match=r"stories.jsonl, line 2: Wrong Story: crawled_at"):
        load_stories(str(path), NOW, "en")
