"""Corrections by hand, from the command line and the page of an event, through real workers that are killed in between."""

import json
import re

import httpx
import pytest
from pydantic import SecretStr

from pipeline.codec import decode, encode
from pipeline.evaluation.labels import read_labels
from pipeline.records import AMENDMENT, Amendment, EventUpdate
from pipeline.replay import AmendmentStep
from tests import sample
from tests.cli.run import run
from tests.integration.helpers import prepare, read, send, start, wait_for, wait_until_settled, worker
from tests.reliability.promise import judge, replayed
from tests.web.conftest import serving

COUNT = 2_500
"""Enough stories for events to break."""


@pytest.fixture
def broken(settings, reader, tmp_path):
    """A running worker after stories that made events; its process."""
    prepare(settings)
    with worker(settings, tmp_path / "worker.log") as process:
        send(settings, "stories", [(b"en", line) for line in sample.lines(COUNT)])
        wait_until_settled(settings, process)
        yield process


def events_of(reader, *states):
    return [row for row in reader.events() if row["state"] in (states or ("started", "updated", "reopened"))]


def amend(settings, *arguments):
    """What an amendment changed, as the command says it in JSON."""
    result = run("amend", *arguments, "--by", "ann", "--json", settings=settings)
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_amendments_change_clusters_and_events_and_the_replay_knows_them(settings, new_database, reader, tmp_path):
    prepare(settings)
    log = tmp_path / "worker.log"
    process = start(settings, log)
    try:
        send(settings, "stories", [(b"en", line) for line in sample.lines(COUNT)])
        wait_until_settled(settings, process)
        first, second, third = [row["id"] for row in reversed(reader.events())][:3]
        stories = [
            row["id"] for row in reader.rows("SELECT id FROM news.stories_of_event(:event) LIMIT 3", event=second)
        ]
        amend(settings, "dismiss", first, "--reason", "a quiz")
        amend(settings, "pin", second, "What it is about")
        moved = amend(settings, "move", stories[0], "--to", third)
        process.kill()  # what the amendments changed is in the rows that the next worker begins with
        process.wait()
        process = start(settings, log)
        amend(settings, "split", *stories[1:])
        amend(settings, "merge", first, third)
        send(settings, "stories", [(b"en", line) for line in sample.lines()[COUNT : COUNT + 500]])
        wait_until_settled(settings, process)
    finally:
        process.kill()
        process.wait()
    verdict = judge(settings, new_database())
    assert verdict.kept, verdict
    assert (verdict.amendments, verdict.refused) == (5, 0)
    assert moved["stories"] == [stories[0]]
    updates = {}
    for record in read(settings, "events"):
        update = decode(record.value, EventUpdate)
        updates[update.event_id] = update
    assert updates[second].headline == "What it is about"
    assert updates[first].dismissed
    of = {row["id"]: row["cluster_id"] for row in reader.rows("SELECT id, cluster_id FROM news.stories")}
    assert of[stories[1]] == of[stories[2]] != of[stories[0]]
    path = tmp_path / "labels.csv"
    path.write_text(run("amend", "labels", settings=settings).output)
    labels = read_labels(str(path)).events  # as `newsburst fit` reads them
    assert labels[stories[1]] == labels[stories[2]] != labels[stories[0]]
    listed = json.loads(run("amend", "list", "--event", first, "--json", settings=settings).output)
    assert [(row["action"], row["amended_by"], row["reason"]) for row in listed][-1] == ("dismiss", "ann", "a quiz")
    assert sum(isinstance(step, AmendmentStep) for _, step in replayed(settings)) == 5


def test_what_cannot_be_amended_is_said_and_changes_nothing(settings, reader, broken):
    event = reader.events()[0]["id"]
    result = run("amend", "dismiss", "e0", settings=settings)
    assert (result.exit_code, result.output) == (1, "Error: There is no event 'e0'.\n")
    result = run("amend", "move", "nobody", "--to", event, settings=settings)
    assert (result.exit_code, result.output) == (1, "Error: There is no story 'nobody' in edition en.\n")
    result = run("amend", "merge", event, event, settings=settings)
    assert result.exit_code == 1
    assert "Error: These are one cluster already: 'c" in result.output
    result = run("amend", "pin", event, "x" * 2_001, settings=settings)
    assert (result.exit_code, "headline: it has more than 2,000 characters" in result.output) == (1, True)
    for arguments in (["pin", event, "  "], ["dismiss", event, "--by", " "], ["pin", event, "a\udcff"]):
        result = run("amend", *arguments, settings=settings)
        assert (result.exit_code, "Error: " in result.output, result.exception.__class__) == (1, True, SystemExit)
    result = run("amend", "dismiss", event, "--undo", settings=settings)
    assert "was not dismissed" in result.output
    assert reader.rows("SELECT * FROM news.amendments") == []
    asked = Amendment(id="forged", edition="en", action="split", by="eve", stories=["nobody"])
    wrong = Amendment(id="wrong", edition="en", action="merge", by="eve")
    send(settings, "amendments", [(b"en", encode(asked)), (b"en", encode(wrong)), (b"en", b"{}")])
    refused = wait_for(lambda: reader.rows("SELECT * FROM news.amendments WHERE refused IS NOT NULL"))
    assert [(row["id"], row["refused"]) for row in refused] == [
        ("forged", "story 'nobody' is in no cluster that lives")
    ]
    letters = wait_for(lambda: (found := read(settings, "amendments.dlq")) and len(found) == 2 and found)
    assert {dict(letter.headers)["newsburst-error"] for letter in letters} == {
        b"Wrong Amendment: clusters: `merge` needs 2 to 1,000, not 0.",
        b"Wrong Amendment: the message: Object missing required field `id`.",
    }
    assert sum(AMENDMENT in record.headers for record in read(settings, "fingerprints")) == 1


def test_editors_amend_from_the_page_of_an_event_and_nobody_else_does(settings, reader, broken, tmp_path):
    event = reader.events()[-1]["id"]
    served = settings.model_copy(update={"web_editor_token": SecretStr("quill"), "web_token": SecretStr("glasses")})
    with serving(served, tmp_path / "web.log") as address, httpx.Client(base_url=address, timeout=30) as client:
        path = f"/events/{event}/amend"
        assert client.get(path, auth=("ann", "glasses")).status_code == 401
        assert client.post(path, data={"action": "dismiss"}).status_code == 401
        elsewhere = {"Sec-Fetch-Site": "cross-site"}
        assert (
            client.post(path, data={"action": "dismiss"}, auth=("ann", "quill"), headers=elsewhere).status_code == 403
        )
        elsewhere = {"Origin": "https://evil.example"}
        assert (
            client.post(path, data={"action": "dismiss"}, auth=("ann", "quill"), headers=elsewhere).status_code == 403
        )
        assert reader.rows("SELECT * FROM news.amendments") == []
        page = client.get(path, auth=("ann", "quill"))
        assert "you are <bdi>ann</bdi>" in page.text
        assert len(re.findall('type="checkbox"', page.text)) >= 15
        answer = client.post(path, data={"action": "pin", "headline": "<b>Told</b> anew"}, auth=("ann", "quill"))
        assert (answer.status_code, answer.headers["location"]) == (303, f"/events/{event}#corrections")
        wait_for(
            lambda: (
                "&lt;b&gt;Told&lt;/b&gt; anew</bdi></h1>" in client.get(f"/events/{event}", auth=("x", "glasses")).text
            )
        )
        answer = client.post(path, data={"action": "split"}, auth=("ann", "quill"))
        assert answer.status_code == 422
        assert "Choose stories first." in answer.text
        answer = client.post(path, data={"action": "dismiss", "reason": "a test"}, auth=("ann", "quill"))
        assert answer.status_code == 303
        wait_for(lambda: "Dismissed by an editor" in client.get(f"/events/{event}", auth=("x", "glasses")).text)
        assert "a test" in client.get(f"/events/{event}", auth=("x", "glasses")).text
    with serving(settings, tmp_path / "web.log") as address, httpx.Client(base_url=address, timeout=30) as client:
        answer = client.post(path, data={"action": "dismiss"}, auth=("ann", "quill"))
        assert answer.status_code == 403
        assert "NEWSBURST_WEB_EDITOR_TOKEN" in answer.text
        assert path not in client.get(f"/events/{event}").text
