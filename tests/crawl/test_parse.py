"""Feeds of all kinds, and what is none."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.crawl.parse import InvalidFeed, parse

URL = "https://news.example/feeds/all"
RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>The Example</title><language>de-DE</language>
<item><title>Fähre &amp; Sturm</title><link>/a?x=1</link><pubDate>Mon, 23 Nov 2026 10:00:00 +0100</pubDate></item>
<item><title></title><link>/without-title</link></item>
<item><title>javascript</title><link>javascript:alert(1)</link></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="fr"><title>L'Exemple</title>
<entry><title type="html">Un &lt;b&gt;mot&lt;/b&gt;</title>
<link rel="alternate" href="https://news.example/b"/><updated>2026-11-23T09:00:00Z</updated></entry></feed>"""
SITEMAP = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"><url>
<loc>https://news.example/c</loc>
<news:news><news:publication><news:name>Ejemplo</news:name><news:language>es</news:language>
</news:publication><news:publication_date>2026-11-23T09:00:00+00:00</news:publication_date>
<news:title>Tormenta en el norte</news:title></news:news></url></urlset>"""
JSON = {
    "version": "https://jsonfeed.org/version/1.1",
    "title": "Example",
    "language": "en",
    "items": [
        {
            "id": "1",
            "url": "https://news.example/d",
            "title": "Ferry capsizes",
            "date_published": "2026-11-23T09:00:00Z",
        },
        "no item",
        {"title": "without address"},
    ],
}
NINE = datetime(2026, 11, 23, 9, tzinfo=UTC)


def test_rss():
    feed = parse(RSS.encode(), URL)
    (entry,) = feed.entries
    assert (feed.title, feed.language) == ("The Example", "de-DE")
    assert (entry.url, entry.title, entry.published_at) == ("https://news.example/a?x=1", "Fähre & Sturm", NINE)


def test_atom():
    feed = parse(ATOM.encode(), URL)
    (entry,) = feed.entries
    assert (entry.url, entry.published_at, entry.language) == ("https://news.example/b", NINE, "fr")
    assert "mot" in entry.title


def test_json_feed():
    (entry,) = parse(json.dumps(JSON).encode(), URL).entries
    assert (entry.url, entry.title, entry.published_at, entry.language) == (
        "https://news.example/d",
        "Ferry capsizes",
        NINE,
        "en",
    )


def test_a_news_sitemap():
    (entry,) = parse(SITEMAP.encode(), URL).entries
    assert (entry.title, entry.publisher, entry.language, entry.published_at) == (
        "Tormenta en el norte",
        "Ejemplo",
        "es",
        NINE,
    )


def test_encodings_are_found():
    text = RSS.replace('version="1.0"', 'version="1.0" encoding="iso-8859-1"')
    assert parse(text.encode("latin-1"), URL).entries[0].title == "Fähre & Sturm"
    assert (
        parse(RSS.split("?>")[1].encode("windows-1252"), URL, "text/xml; charset=windows-1252").entries[0].title
        == "Fähre & Sturm"
    )


def test_a_broken_feed_gives_what_is_readable():
    broken = RSS.replace("&amp;", "&").replace("</channel></rss>", "")
    assert "Sturm" in parse(broken.encode(), URL).entries[0].title


@pytest.mark.parametrize(
    "body", [b"", b"<html><body>Not found</body></html>", b"{}", b'{"items": 3}', b"{" * 100_000, b"\x00\xff" * 50]
)
def test_what_is_no_feed_is_refused_in_a_sentence(body):
    with pytest.raises(InvalidFeed, match="it is"):
        parse(body, URL)


def test_entities_are_not_expanded():
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    with pytest.raises(InvalidFeed, match="entities"):
        parse((bomb + SITEMAP).encode(), URL)
    secret = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY s SYSTEM "file:///etc/passwd">]>' + RSS.split("?>")[1].replace(
        "Sturm", "&s;"
    )
    assert "root" not in "".join(entry.title for entry in parse(secret.encode(), URL).entries)


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: (RSS[:150] + text).encode(errors="ignore")))
def test_whatever_comes_is_a_feed_or_refused(body):
    try:
        feed = parse(body, URL)
    except InvalidFeed:
        return
    assert all(entry.url.startswith(("http://", "https://")) and entry.title for entry in feed.entries)
