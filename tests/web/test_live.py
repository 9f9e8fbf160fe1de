"""Updates reach who waits for them, once, through restarts and outages."""

import json
import threading
from contextlib import closing

import httpx
import msgspec
import pytest

from pipeline.replay import replay
from pipeline.stages.rules import DetectRule
from pipeline.times import HOUR
from tests.integration.helpers import prepare, send, wait_for
from tests.make import fingerprinted
from tests.storage.dump import write
from tests.web.conftest import elsewhere, serving

RULE = DetectRule(threshold=3, window=HOUR, min_publishers=2)
SUBJECTS = ["earthquake strike nepal capital", "bank cut interest rate", "storm hit coast town"]


def happen(settings, *subjects, ahead_of_store=False):
    """Have events on these subjects break: on the topic and in Postgres, as a worker does it. Returns their updates."""
    log = [fingerprinted(f"{subject}-{n}", subject, n * 2) for subject in subjects for n in range(8)]
    records = [
        record
        for step in replay(enumerate(sorted(log, key=lambda one: one.story.crawled_at)), detect_rule=RULE)
        for record in (step.assignment, *step.clusters, *step.updates)
    ]
    updates = [record for record in records if hasattr(record, "event_id")]
    steps = [
        lambda: write(settings.postgres, records),
        lambda: elsewhere(
            send, settings, "events", [(update.edition.encode(), msgspec.json.encode(update)) for update in updates]
        ),
    ]
    for step in reversed(steps) if ahead_of_store else steps:
        step()
    return updates


class Listener:
    """Reads the stream in a thread; can be ended, as by a lost connection."""

    def __init__(self, address, position=None, **chosen):
        self.updates, self.position, self.failed = [], position, None
        self._client = httpx.Client(base_url=address, timeout=30)
        headers = {"Last-Event-ID": position} if position else {}
        self._stream = self._client.stream("GET", "/api/events/stream", params=chosen, headers=headers)
        self._answer = self._stream.__enter__()
        assert self._answer.status_code == 200
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        try:
            for line in self._answer.iter_lines():
                name, _, value = line.partition(": ")
                if name == "id":
                    self.position = value
                elif name == "data":
                    update = json.loads(value)
                    self.updates.append((update["event_id"], update["sequence"]))
        except httpx.HTTPError as error:
            self.failed = error

    def close(self):
        self._answer.close()
        self._client.close()


@pytest.fixture
def site(settings, tmp_path):
    """The address of a server with nothing in it."""
    elsewhere(prepare, settings)
    with serving(settings, tmp_path / "web.log") as address:
        wait_for(lambda: httpx.get(f"{address}/api/health").json()["ready"])
        yield address


def keys(updates):
    return [(update.event_id, update.sequence) for update in updates]


def test_a_reader_that_was_away_gets_what_it_missed_once(settings, tmp_path):
    elsewhere(prepare, settings)
    with serving(settings, tmp_path / "web.log") as address:
        with closing(Listener(address)) as listener:
            wait_for(lambda: httpx.get(f"{address}/api/health").json()["ready"])
            first = happen(settings, SUBJECTS[0])
            wait_for(lambda: len(listener.updates) >= len(first))
            assert listener.updates == keys(first)
            position = listener.position
        second = happen(settings, SUBJECTS[1])
        with closing(Listener(address, position)) as listener:
            wait_for(lambda: len(listener.updates) >= len(second))
            third = happen(settings, SUBJECTS[2])
            wait_for(lambda: len(listener.updates) >= len(second) + len(third))
            assert listener.updates == keys(second + third)
    with serving(settings, tmp_path / "again.log") as address, closing(Listener(address, position)) as listener:
        wait_for(lambda: len(listener.updates) >= len(second) + len(third))
        assert listener.updates == keys(second + third)
    with serving(settings, tmp_path / "all.log") as address, closing(Listener(address, "0:0.1:0")) as listener:
        wait_for(lambda: len(listener.updates) >= len(first) + len(second) + len(third))
        assert listener.updates == keys(first + second + third)


def test_updates_that_are_not_wanted_move_the_position_on(settings, site):
    with closing(Listener(site, words="nothing-like-it")) as listener:
        begin = listener.position
        happen(settings, SUBJECTS[0])
        wait_for(lambda: listener.position not in {None, begin})
        assert listener.updates == []


def test_pages_that_nobody_sees_hold_no_connection_and_catch_up(settings, site, browser):
    page = browser.new_page()
    page.goto(f"{site}/")
    page.wait_for_selector("body[data-connected=yes]")
    hide = """hidden => {
        Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(hide, arg=True)
    assert page.evaluate("stream === null")
    updates = happen(settings, SUBJECTS[0])
    wait_for(lambda: httpx.get(f"{site}/api/events").json()["items"])
    page.wait_for_timeout(500)
    assert page.locator("[data-event]").count() == 0
    page.evaluate(hide, arg=False)
    page.locator(f"[data-event='{updates[-1].event_id}']").wait_for(timeout=20_000)


def test_a_filter_chooses_what_the_stream_sends(settings, site):
    with closing(Listener(site, words="EARTHQUAKE nepal")) as listener, closing(Listener(site)) as whole:
        updates = happen(settings, *SUBJECTS)
        wait_for(lambda: len(whole.updates) >= len(updates))
        wanted = [update for update in updates if "earthquake" in update.headline.lower()]
        assert listener.updates == keys(wanted)
        assert 0 < len(wanted) < len(updates)


@pytest.mark.parametrize("ahead_of_store", [False, True])
def test_an_event_appears_on_an_open_page_and_changes_there(settings, site, browser, ahead_of_store):
    page, said = browser.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{site}/")
    page.wait_for_selector("body[data-connected=yes]")
    page.evaluate("window.hasNotReloaded = true")
    assert page.locator("[data-none]").is_visible()
    updates = happen(settings, SUBJECTS[0], ahead_of_store=ahead_of_store)
    card = page.locator(f"[data-event='{updates[-1].event_id}'][data-sequence='{updates[-1].sequence}']")
    card.wait_for(timeout=20_000)
    assert page.locator("[data-event]").count() == 1
    assert card.locator("h2").inner_text() == updates[-1].headline
    assert not page.locator("[data-none]").is_visible()
    assert page.locator("[data-spoken]").inner_text() == f"Breaking: {updates[-1].headline}"
    assert page.evaluate("window.hasNotReloaded")
    assert said == []
    page.close()


def test_what_broke_between_the_page_and_its_connection_is_not_missed(settings, site, browser):
    context = browser.new_context()
    page = context.new_page()
    held = []
    page.route("**/live?*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks what it is given
    page.goto(f"{site}/")
    wait_for(lambda: held or page.wait_for_timeout(50))
    updates = happen(settings, SUBJECTS[0])
    wait_for(lambda: httpx.get(f"{site}/api/events").json()["items"])
    for route in held:
        route.continue_()
    page.locator(f"[data-event='{updates[-1].event_id}']").wait_for(timeout=20_000)
    context.close()


def test_the_page_of_an_event_follows_it(settings, site, browser):
    updates = happen(settings, SUBJECTS[0])
    event = updates[-1].event_id
    wait_for(lambda: httpx.get(f"{site}/events/{event}").status_code == 200)
    page = browser.new_page()
    page.goto(f"{site}/events/{event}")
    page.wait_for_selector("body[data-connected=yes]")
    later = msgspec.structs.replace(updates[-1], sequence=updates[-1].sequence + 1, headline="Quake strikes again")
    write(settings.postgres, [later])
    elsewhere(send, settings, "events", [(later.edition.encode(), msgspec.json.encode(later))])
    page.get_by_role("heading", name="Quake strikes again").wait_for(timeout=20_000)
    page.close()
