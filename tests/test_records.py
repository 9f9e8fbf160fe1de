"""Decoding: every wrong message gets a reason a person understands."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.records import MAX_BODY, InvalidRecord, Story, decode, encode

GOOD = {"url": "https://a.example/b", "title": "T", "publisher": "P", "crawled_at": "2024-05-01T12:00:00.5Z"}


def raw(**changes):
    return msgspec.json.encode(GOOD | changes)


def test_a_good_story_keeps_its_fields_and_unknown_ones_are_ignored():
    story = decode(raw(body="B", unknown=[1]), Story)
    assert (story.title, story.body, story.language) == ("T", "B", None)
    assert decode(encode(story), Story) == story


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (None, "The message is empty"),
        (b"", "The message is empty"),
        (b"hello", "Not JSON"),
        (b'{"url": "https', "Not JSON"),
        (b"\xff\xfe{}", "Not JSON"),
        (raw().replace(b'"T"', b'"\xc3"'), "Not JSON in UTF-8"),
        (raw().replace(b'"T"', b'"\\ud800"'), "Not JSON in UTF-8"),
        (b"[]", "Wrong Story: the message: Expected `object`, got `array`"),
        (b"{}", "Wrong Story: the message: Object missing required field"),
        (raw(title=7), "Wrong Story: title: Expected `str`, got `int`"),
        (raw(title=""), "Wrong Story: title: Expected `str` of length >= 1"),
        (raw(title="x" * 2001), "Wrong Story: title: Expected `str` of length <= 2000"),
        (raw(body="x" * (MAX_BODY + 1)), "Wrong Story: body: Expected `str` of length <= 200000"),
        (raw(crawled_at="yesterday"), "Wrong Story: crawled_at: Invalid RFC3339"),
        (raw(crawled_at="2024-05-01T12:00:00"), "Wrong Story: crawled_at: Expected `datetime` with a timezone"),
        (raw(language="english, please"), "Wrong Story: language"),
        (b"[" * 100_000, "nested|array"),
    ],
)
def test_a_wrong_message_is_refused_with_its_reason(message, reason):
    with pytest.raises(InvalidRecord, match=reason):
        decode(message, Story)


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(message):
    with contextlib.suppress(InvalidRecord):
        decode(message, Story)
