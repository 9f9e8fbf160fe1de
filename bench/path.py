"""The pure path: stories in, events out, on one core; against the 10 seconds that Newshound takes for 10,000 stories."""

import time
from collections.abc import Iterable

from bench.figures import Figure, absolute
from bench.news import RECEIVED, days
from pipeline.replay import fingerprints, replay
from pipeline.stages.rules import ClusterRule, DetectRule
from pipeline.stages.weights import shipped
from pipeline.warm_up import warm_up

STORIES = 10_000
LIMIT = 0.7
"""Seconds."""


def figures(*, quick: bool) -> Iterable[Figure]:
    """10,000 headlines through normalise, fingerprint, cluster and detect."""
    warm_up(ClusterRule(), DetectRule(), shipped())
    stories = days()[:STORIES]
    seconds: list[float] = []
    for _ in range(5 if quick else 9):
        start = time.process_time()
        events = sum(len(step.updates) for step in replay(fingerprints(stories, RECEIVED)))
        seconds.append(time.process_time() - start)
        assert events
    yield absolute(f"pure path, {STORIES:,} stories to events", "0.7 s (Newshound: 10 s)", seconds, LIMIT, "s")
