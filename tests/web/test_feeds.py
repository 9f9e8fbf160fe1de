"""Feeds, as readers and validators see them."""

from datetime import datetime
from xml.etree import ElementTree as ET

ATOM = {"a": "http://www.w3.org/2005/Atom"}


def test_an_atom_feed_has_what_rfc_4287_asks_for(client):
    answer = client.get("/feeds/atom.xml?edition=en&publishers=20")
    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    feed = ET.fromstring(answer.content)
    for name in ("id", "title", "updated", "author/a:name"):
        assert len(feed.findall(f"a:{name}", ATOM)) == 1, name
    assert feed.find("a:link[@rel='self']", ATOM).get("href") == str(answer.url)
    entries = feed.findall("a:entry", ATOM)
    rows = client.get("/api/events?edition=en&publishers=20&limit=50").json()["items"]
    assert [entry.find("a:id", ATOM).text for entry in entries] == [
        f"urn:newsburst:event:{row['event_id']}" for row in rows
    ]
    assert [entry.find("a:title", ATOM).text for entry in entries] == [row["headline"] for row in rows]
    for entry, row in zip(entries, rows, strict=True):
        assert datetime.fromisoformat(entry.find("a:updated", ATOM).text) == datetime.fromisoformat(row["updated_at"])
        assert entry.find("a:link[@rel='alternate']", ATOM).get("href").endswith(f"/events/{row['event_id']}")
        assert all(len(entry.findall(f"a:{name}", ATOM)) == 1 for name in ("id", "title", "updated", "summary"))


def test_a_json_feed_has_what_version_1_1_asks_for(client):
    answer = client.get("/feeds/feed.json?words=google")
    feed = answer.json()
    assert answer.headers["content-type"] == "application/feed+json"
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert feed["feed_url"] == str(answer.url)
    assert len({item["id"] for item in feed["items"]}) == len(feed["items"]) > 0
    for item in feed["items"]:
        assert "google" in item["title"].lower()
        assert item["content_text"]
        datetime.fromisoformat(item["date_modified"])


def test_every_entry_leads_to_its_page(client):
    for item in client.get("/feeds/feed.json").json()["items"][:3]:
        assert client.get(item["url"]).status_code == 200
