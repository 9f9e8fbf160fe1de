"""The API as programs use it."""

import base64
import csv
import io
import json
import re
from datetime import datetime

import pytest


def everything(client, path, **chosen):
    """All rows of all pages."""
    rows, answer = [], client.get(path, params=chosen).raise_for_status().json()
    while True:
        rows += answer["items"]
        if answer["next"] is None:
            return rows
        answer = client.get(answer["next"]).raise_for_status().json()


def test_pages_hold_every_event_once_in_order(client, archive_settings):
    whole = everything(client, "/api/events", limit=1000)
    paged = everything(client, "/api/events", limit=7)
    assert paged == whole
    assert len({row["event_id"] for row in whole}) == len(whole) > 7
    keys = [(row["started_at"], row["event_id"]) for row in whole]
    assert keys == sorted(keys, reverse=True)


def test_filters_hold_for_every_row_and_leave_out_no_other(client):
    whole = everything(client, "/api/events", limit=1000)
    for name, keep in {
        "edition": lambda row, wanted: row["edition"] == wanted,
        "state": lambda row, wanted: row["state"] == wanted,
        "publishers": lambda row, wanted: row["publishers"] >= int(wanted),
        "words": lambda row, wanted: all(word in row["headline"].lower() for word in wanted.lower().split()),
    }.items():
        for wanted in {
            "edition": ["en", "tr"],
            "state": ["ended", "updated"],
            "publishers": ["20"],
            "words": ["GOOGLE"],
        }[name]:
            found = everything(client, "/api/events", **{name: wanted})
            assert found == [row for row in whole if keep(row, wanted)], (name, wanted)
    (publisher,) = {row["publisher"] for row in everything(client, f"/api/events/{whole[0]['event_id']}/stories")[:1]}
    assert whole[0]["event_id"] in {row["event_id"] for row in everything(client, "/api/events", publisher=publisher)}


def test_times_choose_by_the_alert(client):
    whole = everything(client, "/api/events", limit=1000)
    since, until = whole[-5]["started_at"], whole[5]["started_at"]
    found = everything(client, "/api/events", since=since, until=until)
    assert found == [row for row in whole if since <= row["started_at"] < until]


def test_counts_of_a_page_agree(client, an_event):
    text = re.sub(r"<[^>]+>", "", client.get(f"/events/{an_event['event_id']}").text).replace("\N{NO-BREAK SPACE}", " ")
    event = client.get(f"/api/events/{an_event['event_id']}").json()
    assert f"grown to {event['stories_now']} stories from {event['publishers_now']} publishers" in text
    assert int(re.search(r"and (\d+) more", text)[1]) == event["publishers_now"] - 14


def test_no_cluster_that_broke_is_among_those_that_did_not(client):
    for cluster in set(re.findall(r'href="/clusters/(\w+)"', client.get("/clusters").text.partition("Close to")[0])):
        assert client.get(f"/api/clusters/{cluster}").json()["event_ids"] == []


def test_an_event_has_its_stories_and_reports(client, an_event):
    path = f"/api/events/{an_event['event_id']}"
    assert client.get(path).json()["alert"]["sequence"] == 1
    stories = everything(client, f"{path}/stories", limit=10)
    assert len(stories) == len({row["story_id"] for row in stories}) == an_event["stories"]
    for report in ("timeline", "curve", "publishers", "changes", "copies", "related", "linked"):
        assert client.get(f"{path}/{report}").status_code == 200, report
    assert sum(row["stories"] for row in everything(client, f"{path}/curve")) == an_event["stories"]


def test_clusters_stories_and_publishers_are_found(client, an_event):
    found = everything(client, "/api/clusters", limit=5, hours=12)
    assert [row["stories"] for row in found] == sorted((row["stories"] for row in found), reverse=True)
    cluster = client.get(f"/api/clusters/{found[0]['cluster_id']}").json()
    stories = everything(client, f"/api/clusters/{cluster['cluster_id']}/stories", limit=50)
    assert len(stories) == cluster["stories"]
    story = client.get("/api/stories", params={"id": stories[0]["url"]}).json()["items"][0]
    assert story["story_id"] == stories[0]["story_id"]
    assert client.get("/api/stories/similar", params={"id": story["story_id"]}).status_code == 200
    hits = client.get("/api/search", params={"q": "paltrow"}).json()["items"]
    assert an_event["event_id"] in {row["id"] for row in hits}
    publishers = everything(client, "/api/publishers", limit=100)
    assert len({(row["family"], row["edition"]) for row in publishers}) == len(publishers) > 100


def test_rows_come_as_csv_and_as_lines_where_that_is_asked_for(client):
    rows = client.get("/api/events?limit=5").json()["items"]
    answer = client.get("/api/events?limit=5", headers={"Accept": "text/csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.links["next"]["url"]
    assert [line["event_id"] for line in csv.DictReader(io.StringIO(answer.text))] == [row["event_id"] for row in rows]
    lines = client.get("/api/events?limit=5", headers={"Accept": "application/x-ndjson, */*;q=0.1"}).text.splitlines()
    assert [json.loads(line) for line in lines] == rows
    refused = client.get("/api/events", headers={"Accept": "image/png"})
    assert (refused.status_code, refused.headers["content-type"]) == (406, "application/problem+json")


def test_what_has_not_changed_is_not_sent_again(client):
    for path in ("/api/events", "/", "/feeds/atom.xml", "/feeds/feed.json", "/static/style.css"):
        first = client.get(path)
        again = client.get(path, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b""), path


@pytest.mark.parametrize(
    ("path", "status", "word"),
    [
        ("/api/events/nothing", 404, "'nothing'"),
        ("/api/clusters/nothing", 404, "'nothing'"),
        ("/api/stories?id=nothing", 404, "'nothing'"),
        ("/api/nothing", 404, "nothing at this address"),
        ("/api/events?limit=0", 422, "limit"),
        ("/api/events?edition=English", 422, "edition"),
        ("/api/events?after=x", 400, "after='x'"),
        (
            "/api/events?after=" + base64.urlsafe_b64encode(b'["2014-01-01T00:00:00Z","\\u0000"]').decode(),
            400,
            "after=",
        ),
        ("/api/events?words=%00", 400, "NUL"),
        ("/api/events/a%00b", 404, "NUL"),
        ("/api/events/stream?since=17", 400, "'17'"),
        ("/api/events/stream?since=77:3", 400, "partition 77"),
        ("/api/stories/similar?id=nothing", 404, "'nothing'"),
        ("/api/stories?id=%00", 422, "id"),
    ],
)
def test_errors_are_problems_that_name_what_is_wrong(client, path, status, word):
    answer = client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json()["status"] == status
    assert word in answer.json()["detail"]


def test_fields_that_nobody_filled_in_choose_nothing(client):
    whole = client.get("/api/events").json()
    assert client.get("/api/events?edition=&words=&publisher=&state=").json() == whole
    for path in ("/?edition=&words=", "/search?q=google&edition=", "/clusters?edition=", "/publishers?edition="):
        assert client.get(path).status_code == 200, path


def test_head_is_answered_as_get_without_the_body(client):
    for path in ("/", "/api/events", "/feeds/atom.xml", "/static/style.css"):
        answer, whole = client.head(path), client.get(path)
        assert (answer.status_code, answer.content) == (200, b""), path
        assert answer.headers["content-type"] == whole.headers["content-type"]


def test_nothing_can_be_written(client):
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert client.request(method, "/api/events").status_code == 405


def test_health_says_how_far_the_stream_is(client):
    answer = client.get("/api/health").json()
    assert (answer["ready"], answer["missing"]) == (True, [])
    assert {row["edition"] for row in answer["editions"]} == {"en", "tr", "uk", "hi"}
    assert all(datetime.fromisoformat(row["stream_time"]).year == 2014 for row in answer["editions"])
