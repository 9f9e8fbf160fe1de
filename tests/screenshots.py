"""The pictures of the README: `python -m tests.screenshots` draws them from the stories of the reports' examples."""

import tempfile
from pathlib import Path

import httpx

from pipeline.config import Settings
from pipeline.embedded.services import embedded_services
from tests import reports
from tests.integration.helpers import make_topics
from tests.web.conftest import chromium, elsewhere, serving

DOCS = Path(__file__).parents[1] / "docs"


def main():
    """Draw them."""
    folder = Path(tempfile.mkdtemp())
    with embedded_services(folder / "data", "pictures") as services:
        settings = Settings(kafka=services.kafka, postgres=services.postgres, data=folder)
        reports.prepare(settings.postgres)
        elsewhere(make_topics, settings)
        with serving(settings, folder / "web.log") as address, chromium() as browser:
            events = httpx.get(f"{address}/api/events", params={"words": "paltrow", "limit": 100}).json()["items"]
            event = max(events, key=lambda one: one["stories"])["event_id"]
            page = browser.new_page(viewport={"width": 1180, "height": 860})
            for name, path in {"breaking": "/?edition=en", "event": f"/events/{event}"}.items():
                page.goto(address + path)
                page.wait_for_selector("body[data-connected=yes]")
                page.screenshot(path=DOCS / f"{name}.png")


if __name__ == "__main__":
    main()
