"""Related events: an alert names the active events that it reads like."""

from pipeline.codec import decode, encode
from pipeline.records import Detection
from pipeline.stages.detect.restore import restore
from pipeline.stages.detect.stage import detect
from pipeline.stages.detect.state import DetectState
from pipeline.stages.rules import DetectRule
from pipeline.times import HOUR
from tests.make import assignment

RULE = DetectRule(threshold=3, window=HOUR, min_publishers=2)


def burst(cluster_id, text, first, at):
    """Four stories of a cluster, a minute apart."""
    return [
        assignment(first + n, cluster_id, f"s{first + n}", f"{text} detail{n}", at + n, publisher="pq"[n % 2])
        for n in range(4)
    ]


FLOOD = burst("ca", "flood valencia river rescue", 0, 0)
STORM = burst("cb", "budget vote parliament tax", 4, 5)
AGAIN = burst("cc", "flood valencia river bridge", 8, 10)


def alerts(edition, rows):
    return [update for row in rows for update in detect(edition, row).updates if update.sequence == 1]


def test_an_alert_names_the_active_event_that_it_reads_like():
    flood, storm, again = alerts(DetectState(RULE), [*FLOOD, *STORM, *AGAIN])
    assert (flood.related_events, storm.related_events) == ([], [])
    (related,) = again.related_events
    assert related.event_id == flood.event_id
    assert 0.3 < related.score < 0.8


def test_an_event_that_is_over_is_not_named():
    later = burst("cc", "flood valencia river bridge", 8, 70)
    assert alerts(DetectState(RULE), [*FLOOD, *later])[-1].related_events == []


def test_a_restored_edition_names_the_same():
    edition = DetectState(RULE)
    rows = [decode(encode(detect(edition, row).row), Detection) for row in [*FLOOD, *STORM, *AGAIN[:-1]]]
    restored = DetectState(RULE)
    restore(restored, rows)
    (expected,), (found,) = (alerts(state, AGAIN[-1:]) for state in (edition, restored))
    assert found == expected
    assert found.related_events
