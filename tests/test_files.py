"""Files of stories."""

import gzip
import io
import os
import sys
import tracemalloc
from datetime import UTC, datetime

import pytest

from pipeline import lines
from pipeline.codec import InvalidRecord
from pipeline.files import load_stories, read_stories

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
GOOD = b'{"url": "https://a.example/b", "title": "T", "publisher": "P", "crawled_at": "2024-05-01T11:00:00Z"}'
BAD = GOOD.replace(b"2024", b"1970")


def test_lines_are_numbered_and_the_wrong_ones_say_why(tmp_path):
    path = tmp_path / "stories.jsonl"
    path.write_bytes(b"\n".join([GOOD, b"", BAD, b"nonsense", GOOD]))
    lines = list(read_stories(str(path), NOW, "en"))
    assert [(line.number, line.story is None) for line in lines] == [(1, False), (3, True), (4, True), (5, False)]
    assert "`crawled_at` is before 1990: 1970" in lines[1].error
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
    with pytest.raises(InvalidRecord, match=r"stories.jsonl, line 2: `crawled_at`"):
        load_stories(str(path), NOW, "en")


def test_a_byte_order_mark_is_no_part_of_the_first_story(tmp_path):
    path = tmp_path / "marked.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD)
    assert [line.story is not None for line in read_stories(str(path), NOW, "en")] == [True]


def test_a_file_in_utf16_is_named_as_such(tmp_path):
    path = tmp_path / "wide.jsonl"
    path.write_bytes(GOOD.decode().encode("utf-16"))
    with pytest.raises(InvalidRecord, match=r"wide.jsonl: the file is in UTF-16"):
        load_stories(str(path), NOW, "en")


@pytest.mark.parametrize(
    "damage", [lambda packed: packed[:-20], lambda packed: packed[:100] + b"xx" + packed[102:]], ids=["cut", "spoilt"]
)
def test_a_damaged_gzip_file_says_how_far_it_was_read(tmp_path, damage):
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(damage(gzip.compress(b"\n".join([GOOD, *(os.urandom(40).hex().encode() for _ in range(50))]))))
    with pytest.raises(InvalidRecord, match=r"cut.jsonl.gz: the packed file is cut off or damaged after line \d+"):
        list(read_stories(str(path), NOW, "en"))


def test_a_line_that_is_too_long_is_refused_without_being_held(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1_000)
    path = tmp_path / "long.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": "' + b" " * 5_000_000 + b'"}\n' + GOOD + b"\n"))
    tracemalloc.start()
    first, second = read_stories(str(path), NOW, "en")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (first.number, first.error) == (1, "The line has more than 1,000 bytes.")
    assert (second.number, second.story is not None) == (2, True)
    assert peak < 2_000_000


def test_lines_that_are_no_stories_can_be_passed_over(tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_bytes(b"\n".join([GOOD, b"{}", GOOD]))
    refused = []
    assert len(load_stories(str(path), NOW, "en", refused.append)) == 2
    assert [line.number for line in refused] == [2]
