"""The pages in a real browser, and without JavaScript."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe


def paths(client, an_event):
    """An address of every page."""
    event = an_event["event_id"]
    story = client.get(f"/api/events/{event}/stories?limit=1").json()["items"][0]["story_id"]
    return [
        "/",
        "/?edition=en&words=nothing-like-this",
        f"/events/{event}",
        f"/events/{event}/amend",
        f"/stories?id={story}",
        "/clusters",
        f"/clusters/{an_event['cluster_id']}",
        "/publishers",
        "/publishers?family=reuters",
        "/search",
        "/search?q=paltrow+-google",
        "/pipeline",
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1320, 390])
def test_every_page_is_readable_by_all_in_every_theme_and_width(archive, client, an_event, browser, theme, width):
    editor = {"username": "ann", "password": "quill", "send": "always"}
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, http_credentials=editor)
    page, said, asked = context.new_page(), [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    for path in paths(client, an_event):
        page.goto(archive + path)
        page.wait_for_load_state("load")
        found = Axe().run(page).response["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == [], path
        assert said == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert {url for url in asked if not url.startswith(archive)} == set()
    context.close()


def test_pages_can_be_read_without_javascript(archive, client, an_event, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{archive}/")
    headlines = page.locator("li.event h2").all_inner_texts()
    active = [row for row in client.get("/api/events?limit=1000").json()["items"] if row["state"] != "ended"]
    assert headlines == [row["headline"] for row in active]
    page.get_by_role("link", name=headlines[0]).click()
    assert page.locator("h1").inner_text() == headlines[0]
    context.close()


def test_enter_in_a_field_corrects_nothing(archive, an_event, browser):
    editor = {"username": "ann", "password": "quill", "send": "always"}
    context = browser.new_context(http_credentials=editor)
    page, sent = context.new_page(), []
    page.on("request", lambda request: sent.append(request.method))
    page.goto(f"{archive}/events/{an_event['event_id']}/amend")
    for label in ("Why", "Headline", "Event or cluster"):
        page.get_by_label(label).first.fill("x")
        page.get_by_label(label).first.press("Enter")
    page.wait_for_timeout(300)
    assert "POST" not in sent
    context.close()


def test_an_event_says_why_it_broke(client, an_event):
    text = re.sub(r"<[^>]+>", "", client.get(f"/events/{an_event['event_id']}").text)
    alert = client.get(f"/api/events/{an_event['event_id']}").json()["alert"]
    text = text.replace("\N{NO-BREAK SPACE}", " ")
    assert (
        f"It broke because {alert['stories_in_window']} stories from {alert['publishers_in_window']} publishers" in text
    )
    assert "the rule asks for more than 15 stories within 4 h from at least 10 publishers" in text


def test_all_can_be_reached_by_keyboard(archive, browser):
    page = browser.new_page()
    page.goto(f"{archive}/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.close()


def test_what_is_not_there_is_a_page_that_says_so(client):
    answer = client.get("/events/nothing")
    assert answer.status_code == 404
    assert "There is no event &#39;nothing&#39;." in answer.text


def test_every_answer_forbids_what_pages_do_not_need(client):
    for path in ("/", "/api/events", "/feeds/atom.xml", "/static/live.js", "/nothing"):
        headers = client.get(path).headers
        assert "unsafe-inline" not in headers["content-security-policy"]
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in headers
        assert "server" not in headers
