"""Decoding: every wrong message gets a reason a person understands."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.codec import InvalidRecord, decode, encode
from pipeline.records import MAX_BODY, Story

GOOD = {"url": "https://a.example/b", "title": "T", "publisher": "P", "crawled_at": "2024-05-01T12:00:00.5Z"}


def raw(**changes):
    return msgspec.json.encode(GOOD | changes)


def test_a_good_story_keeps_its_fields():
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
        (b"[]", "The message should be an object, not a list."),
        (b"{}", "The story has no `url`."),
        (raw(title=7), "`title` should be text in quotes, not a number."),
        (raw(title=""), "`title` is empty."),
        (raw(title="x" * 2001), "`title` has more than 2,000 characters."),
        (raw(body="x" * (MAX_BODY + 1)), "`body` has more than 200,000 characters."),
        (raw(crawled_at="yesterday"), "`crawled_at` is no date and time: write it as 2026-11-21T09:30:00Z."),
        (raw(crawled_at="2024-05-01T12:00:00"), "`crawled_at` has no time zone"),
        (raw(language="english, please"), "`english, please` is no language tag: use `en` or `pt-BR`."),
        (b"[" * 100_000, "nested|list"),
    ],
)
def test_a_wrong_message_is_refused_with_its_reason(message, reason):
    with pytest.raises(InvalidRecord, match=reason):
        decode(message, Story)


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(message):
    with contextlib.suppress(InvalidRecord):
        decode(message, Story)


@pytest.mark.parametrize(
    ("fields", "extra"),
    [
        ('"desk": "Lima", "rank": 3', {"desk": "Lima", "rank": 3}),
        ('"extra": {"desk": "Lima"}, "rank": [1, {"a": null}]', {"desk": "Lima", "rank": [1, {"a": None}]}),
        ('"huge": 1e999', {"huge": "1e999"}),
        ('"extra": {}', {}),
    ],
)
def test_fields_that_are_not_known_are_kept(fields, extra):
    value = f'{{"url": "u", "title": "t", "publisher": "p", "crawled_at": "2024-05-01T12:00:00Z", {fields}}}'
    assert decode(value.encode(), Story).extra == extra
