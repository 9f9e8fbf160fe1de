"""Who may read, and hostile text."""

import csv
import io
from xml.etree import ElementTree as ET

import httpx
import msgspec
import pytest

from pipeline.config import Settings
from pipeline.replay import replay
from tests.integration.helpers import prepare, send, wait_for
from tests.make import fingerprinted
from tests.storage.dump import write
from tests.web.conftest import elsewhere, serving
from tests.web.test_live import RULE, SUBJECTS, happen

HOSTILE = [
    "<script>alert(1)</script> & \"quotes\" 'too'",
    '=HYPERLINK("https://evil.example";"click")',
    "\u202egnp.exe\u2066 turned",
    "escape \x1b[2J sequence",
    "</bdi><img src=x onerror=alert(1)> <<mark>>",
    "{{ 7 * 7 }} ${7*7} %s",
    "x" * 9_000,
    "not in XML \uffff\ufdd0 at all",
]


@pytest.fixture(scope="module")
def hostile_updates():
    """Events whose headlines and publishers are hostile; the stages would have cleaned some of it."""
    records = []
    for number, text in enumerate(HOSTILE):
        subject = f"subject{number} matter{number} thing{number} case{number}"
        log = [fingerprinted(f"{number}-{n}", subject, n * 2, publisher=f"p{n}") for n in range(6)]
        log = [
            msgspec.structs.replace(
                one,
                story=msgspec.structs.replace(
                    one.story, title=text, publisher=f"{text[:50]}{n}", url="javascript:alert(1)"
                ),
            )
            for n, one in enumerate(log)
        ]
        for step in replay(((number * 100 + place, one) for place, one in enumerate(log)), detect_rule=RULE):
            records += [step.assignment, *step.clusters, *step.updates]
    return records


def test_hostile_text_is_shown_and_never_obeyed(settings, hostile_updates, browser, tmp_path):
    elsewhere(prepare, settings)
    write(settings.postgres, hostile_updates)
    with serving(settings, tmp_path / "web.log") as address:
        events = httpx.get(f"{address}/api/events?limit=100").json()["items"]
        assert len(events) == len(HOSTILE)
        context = browser.new_context(viewport={"width": 390, "height": 800})
        page, said = context.new_page(), []
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("console", lambda message: said.append(message.text))
        paths = ["/", "/clusters", "/publishers", "/search?q=mark", "/pipeline"]
        paths += [f"/events/{event['event_id']}" for event in events] + ["/stories?id=1-0", "/stories?id=2-0"]
        for path in paths:
            page.goto(address + path)
            assert page.locator("a[href^='javascript']").count() == 0, path
            assert page.locator("img, script:not([src])").count() == 0, path
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
            text = page.locator("body").inner_text()
            assert not {"\u202e", "\u2066", "\x1b"} & set(text), path
        assert said == []
        page.goto(f"{address}/")
        assert "<script>alert(1)</script>" in page.locator("ol.events").inner_text()
        context.close()
        table = httpx.get(f"{address}/api/events?limit=100", headers={"Accept": "text/csv"}).text
        for row in csv.reader(io.StringIO(table)):
            assert not any(cell.startswith(("=", "+", "@")) for cell in row)
        assert not {"\u202e", "\x1b"} & set(table)
        feed = httpx.get(f"{address}/feeds/atom.xml?words=").text
        ET.fromstring(feed)
        assert not {"\u202e", "\x1b"} & set(feed)
        assert "<script" not in feed


def test_with_a_token_only_its_bearers_read(settings, tmp_path):
    elsewhere(prepare, settings)
    secret = tmp_path / "token"
    secret.write_text("open sesame\n")
    with serving(settings.model_copy(update={"web_token_file": secret}), tmp_path / "web.log") as address:
        for path in ("/", "/api/events", "/live", "/static/style.css", "/feeds/atom.xml", "/api/openapi.json"):
            refused = httpx.get(address + path)
            assert (refused.status_code, "Basic" in refused.headers["www-authenticate"]) == (401, True), path
            for wrong in ("Bearer open sesam", "Basic é", "Basic x", "Bearer", ""):
                refused = httpx.get(address + path, headers={"Authorization": wrong.encode()})
                assert refused.status_code == 401, wrong
        assert httpx.get(f"{address}/api/events", headers={"Authorization": "Bearer open sesame"}).status_code == 200
        assert httpx.get(f"{address}/", auth=("anyone", "open sesame")).status_code == 200
        assert httpx.get(f"{address}/api/health").json() == {"ready": True}


def test_a_forged_record_costs_its_own_card_at_most(settings, tmp_path, browser):
    elsewhere(prepare, settings)
    with serving(settings, tmp_path / "web.log") as address:
        wait_for(lambda: httpx.get(f"{address}/api/health").json()["ready"])
        page = browser.new_page()
        page.goto(f"{address}/")
        page.wait_for_selector("body[data-connected=yes]")
        (update, *_) = happen(settings, SUBJECTS[0])
        forged = msgspec.structs.replace(update, event_id="eforged", edition="xx", members=None)
        write(settings.postgres, [forged])
        elsewhere(send, settings, "events", [(b"x", msgspec.json.encode(forged))])
        assert httpx.get(f"{address}/").status_code == 200
        assert httpx.get(f"{address}/events/eforged").status_code == 200
        (other, *_) = happen(settings, SUBJECTS[1])
        page.locator(f"[data-event='{other.event_id}']").wait_for(timeout=20_000)


def test_a_schema_that_is_not_there_is_named(settings, tmp_path):
    with serving(settings, tmp_path / "web.log") as address:
        answer = httpx.get(f"{address}/api/events")
        assert (answer.status_code, "newsburst migrate" in answer.json()["detail"]) == (503, True)


def test_without_postgres_and_kafka_pages_say_so_and_come_back(settings, database, tmp_path):
    away = Settings(kafka="127.0.0.1:1", postgres="postgresql://127.0.0.1:1/none", data=tmp_path)
    with serving(away, tmp_path / "away.log") as address:
        page = httpx.get(f"{address}/", timeout=30)
        assert (page.status_code, page.headers["retry-after"]) == (503, "2")
        assert "Postgres cannot be reached now" in page.text
        health = httpx.get(f"{address}/api/health", timeout=30)
        assert health.status_code == 503
        assert len(health.json()["missing"]) == 2
    elsewhere(prepare, settings)
    with serving(settings, tmp_path / "web.log") as address:
        wait_for(lambda: httpx.get(f"{address}/api/health").json()["ready"])


def test_names_of_other_sites_are_not_answered_to(archive):
    for host, status in (
        ("evil.example", 421),
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:8080", 200),
        ("[", 421),
    ):
        assert httpx.get(f"{archive}/api/health", headers={"Host": host}).status_code == status, host


def test_parameters_that_an_address_does_not_have_are_refused(archive):
    answer = httpx.get(f"{archive}/api/events?langauge=en")
    assert answer.status_code == 400
    assert "'langauge' is no parameter of this address, which has: after, edition," in answer.json()["detail"]
    assert httpx.get(f"{archive}/feeds/atom.xml?word=x").status_code == 400
    assert httpx.get(f"{archive}/?utm_source=x").status_code == 200
