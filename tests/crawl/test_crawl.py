"""The crawler: new stories once, corrections, state that is kept, intervals that follow the feed."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from pipeline.cli import main
from pipeline.cli.crawl import SHIPPED
from pipeline.codec import decode, encode
from pipeline.crawl.crawl import AlreadyCrawling, Crawler, NotDelivered
from pipeline.crawl.fetch import Fetcher, check_url, web_url
from pipeline.crawl.interval import LONGEST, SHORTEST, after_failure, next_interval
from pipeline.crawl.opml import Source
from pipeline.crawl.opml import read as read_list
from pipeline.records import Story
from tests.integration.helpers import make_topics, read


def rss(*titles, published=None):
    published = published or datetime.now(UTC)
    items = "".join(
        f"<item><title>{title}</title><link>https://news.example/{n}</link>"
        f"<pubDate>{published:%a, %d %b %Y %H:%M:%S} GMT</pubDate></item>"
        for n, title in enumerate(titles)
    )
    return (
        200,
        {},
        f"<rss version='2.0'><channel><title>Example</title><language>en</language>{items}</channel></rss>".encode(),
    )


def crawl(feeds, state, *paths, times=1, broker_away=False):
    """The titles that are sent when each path is asked so many times."""
    sent = []

    async def deliver(stories):
        if broker_away:
            raise NotDelivered("away")
        sent.extend(stories)

    async def run():
        async with Fetcher(private=True) as fetcher:
            for _ in range(times):
                sources = [Source(f"{feeds.url}{path}", "The Example", None) for path in paths]
                await Crawler(sources, state, deliver, fetcher).once()

    asyncio.run(run())
    return sent


def test_a_story_is_sent_once_also_by_a_crawler_that_was_started_again(feeds, tmp_path):
    feeds.answers["/rss"] = rss("One", "Two")
    sent = crawl(feeds, tmp_path / "crawl.json", "/rss", times=3)
    assert sorted(story.title for story in sent) == ["One", "Two"]
    assert {(story.publisher, story.language) for story in sent} == {("The Example", "en")}
    assert all(story.published_at is not None for story in sent)
    assert crawl(feeds, tmp_path / "crawl.json", "/rss") == []
    feeds.answers["/rss"] = rss("One", "Two, corrected", "Three")
    assert sorted(story.title for story in crawl(feeds, tmp_path / "crawl.json", "/rss")) == ["Three", "Two, corrected"]


def test_old_entries_are_not_news(feeds, tmp_path):
    feeds.answers["/rss"] = rss("Old", published=datetime.now(UTC) - timedelta(days=9))
    assert crawl(feeds, tmp_path / "crawl.json", "/rss") == []


def test_a_feed_that_fails_holds_up_no_other(feeds, tmp_path):
    feeds.answers |= {"/good": rss("One"), "/broken": (200, {}, b"<html/>"), "/gone": (500, {}, b"")}
    assert [
        story.title for story in crawl(feeds, tmp_path / "crawl.json", "/broken", "/gone", "/missing", "/good")
    ] == ["One"]
    state = json.loads((tmp_path / "crawl.json").read_text())
    assert {path.rpartition("/")[2]: known["failures"] for path, known in state.items()} == {
        "broken": 1, "gone": 1, "missing": 1, "good": 0,
    }  # fmt: skip


def test_what_the_broker_did_not_take_is_sent_when_it_is_back(feeds, tmp_path):
    feeds.answers["/rss"] = rss("One", "Two")
    assert crawl(feeds, tmp_path / "crawl.json", "/rss", broker_away=True) == []
    assert len(crawl(feeds, tmp_path / "crawl.json", "/rss")) == 2


def test_a_headline_that_is_changed_back_is_sent_again(feeds, tmp_path):
    sent = []
    for title in ("Mayor resigns", "Mayor does not resign", "Mayor resigns", "Mayor resigns"):
        feeds.answers["/rss"] = rss(title)
        sent += crawl(feeds, tmp_path / "crawl.json", "/rss")
    assert [story.title for story in sent] == ["Mayor resigns", "Mayor does not resign", "Mayor resigns"]


def test_a_feed_that_is_read_first_gives_its_stories_their_own_times(feeds, tmp_path):
    before = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=30)
    feeds.answers["/rss"] = rss("Yesterday", published=before)
    (story,) = crawl(feeds, tmp_path / "crawl.json", "/rss")
    assert story.crawled_at == before
    feeds.answers["/rss"] = rss("Yesterday", "Late", published=before)
    (story,) = crawl(feeds, tmp_path / "crawl.json", "/rss")
    assert story.crawled_at > before + timedelta(hours=29)


def test_times_that_cannot_be_are_left_out(feeds, tmp_path):
    feeds.answers["/rss"] = rss("From the future", published=datetime.now(UTC) + timedelta(days=400))
    (story,) = crawl(feeds, tmp_path / "crawl.json", "/rss")
    assert story.published_at is None


@pytest.mark.parametrize("language", ["english", "en_US.UTF-8", "de-DE, en", "x-default", "&lt;b&gt;", "sr@latin"])
def test_a_language_that_is_none_is_left_out(feeds, tmp_path, language):
    status, headers, body = rss("One")
    feeds.answers["/rss"] = status, headers, body.replace(b"<language>en<", f"<language>{language}<".encode())
    (story,) = crawl(feeds, tmp_path / "crawl.json", "/rss")
    assert story.language is None
    assert decode(encode(story), Story) == story


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Location": "http://[bad/"}, b""),
        (
            {"ETag": 'W/"a\xe9b"'},
            b"<rss><channel><item><title>A</title><link>https://a.example/b</link></item></channel></rss>",
        ),
        ({}, b'<?xml version="1.0" encoding="shift_jis"?><urlset/>'),
        ({}, b'<?xml version="1.0" encoding="hex"?><urlset/>'),
        ({}, b"<a/>" * 200_000),
        ({}, b"\x1f\x8b\x08broken"),
    ],
)
def test_whatever_one_server_answers_the_other_feeds_are_read(feeds, tmp_path, headers, body):
    feeds.answers |= {"/odd": (302 if "Location" in headers else 200, headers, body), "/good": rss("Good")}
    titles = [story.title for story in crawl(feeds, tmp_path / "crawl.json", "/odd", "/good")]
    assert "Good" in titles
    assert crawl(feeds, tmp_path / "crawl.json", "/good") == []  # what was seen is written down


def test_two_crawlers_do_not_share_a_state(feeds, tmp_path):
    crawler = Crawler([], tmp_path / "crawl.json", None, None)
    with pytest.raises(AlreadyCrawling):
        Crawler([], tmp_path / "crawl.json", None, None)
    asyncio.run(crawler.once())
    asyncio.run(Crawler([], tmp_path / "crawl.json", None, None).once())


def test_broken_state_begins_anew(feeds, tmp_path):
    (tmp_path / "crawl.json").write_text("{")
    feeds.answers["/rss"] = rss("One")
    assert len(crawl(feeds, tmp_path / "crawl.json", "/rss")) == 1


@given(
    st.timedeltas(SHORTEST, LONGEST),
    st.integers(0, 50),
    st.timedeltas(timedelta(), timedelta(days=30)),
    st.integers(1, 99),
)
def test_intervals_follow_the_feed_within_bounds(before, new, wish, failures):
    assert SHORTEST <= next_interval(before, new, wish) <= LONGEST
    assert next_interval(before, 0) >= next_interval(before, 1)
    assert next_interval(before, new, wish) >= min(wish, LONGEST)
    assert after_failure(failures + 1) >= after_failure(failures) > SHORTEST
    assert after_failure(failures, wish) >= min(wish, LONGEST)


def test_the_command_puts_stories_into_kafka_and_checks_feeds(feeds, kafka_settings, tmp_path):
    make_topics(kafka_settings)
    feeds.answers |= {"/rss": rss("Ferry capsizes off the coast"), "/none": (200, {}, b"<html/>")}
    listed = tmp_path / "feeds.opml"
    outlines = "".join(
        f'<outline text="{path}" title="Paper" language="en" xmlUrl="{feeds.url}{path}"/>' for path in ("/rss", "/none")
    )
    listed.write_text(f"<opml version='2.0'><body><outline text='all'>{outlines}</outline></body></opml>")
    environment = kafka_settings.environment()
    result = CliRunner().invoke(
        main, ["crawl", "--once", "--private", str(listed)], env=environment, catch_exceptions=False
    )
    assert "1 story sent." in result.output
    (record,) = read(kafka_settings, "stories")
    assert json.loads(record.value)["publisher"] == "Paper"
    found = CliRunner().invoke(main, ["crawl", "--check", "--private", "--json", str(listed)], env=environment)
    rows = json.loads(found.output)
    assert [(row["entries"], bool(row["problem"])) for row in rows] == [(1, False), (0, True)]
    refused = CliRunner().invoke(main, ["crawl", "--once", f"{feeds.url}/rss"], env=environment)
    assert (refused.exit_code, "No feed could be read" in refused.output) == (1, True)
    missing = CliRunner().invoke(main, ["crawl", str(tmp_path / "none.opml")], env=environment)
    assert (missing.exit_code, "No such file" in missing.output) == (2, True)


def test_the_list_that_ships_has_many_feeds_in_many_languages_and_all_can_be_asked():
    found = read_list(SHIPPED)
    for source in found:
        check_url(web_url(source.url))
    assert len(found) > 200
    assert len({source.language for source in found if source.language}) > 20
