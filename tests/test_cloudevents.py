"""Headers of CloudEvents on event updates."""

from datetime import datetime

from pipeline.cloudevents import cloudevents
from tests.contracts.keep import records

REQUIRED = {"ce_specversion", "ce_id", "ce_source", "ce_type"}


def test_each_update_has_the_headers_that_cloudevents_requires():
    updates = [record for kind, record in records() if kind == "event_update"]
    found = [dict(cloudevents(update, "newsburst")) for update in updates]
    assert len({headers["ce_id"] for headers in found}) == len(updates)
    for update, headers in zip(updates, found, strict=True):
        assert set(headers) >= REQUIRED
        assert headers["ce_specversion"] == b"1.0"
        assert headers["ce_type"].decode() == f"newsburst.event.{update.state}"
        assert datetime.fromisoformat(headers["ce_time"].decode()) == update.at
        assert headers["ce_source"] == b"/newsburst/en"
