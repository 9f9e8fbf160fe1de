"""Warm-up: run a few records through all stages, so that what is compiled or loaded on first use is ready before the first story.

    python -m pipeline.warm_up

does so when an image is built, where what is compiled is kept in numba's cache.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from pipeline.config import load
from pipeline.languages.background import background
from pipeline.records import Amendment, Fingerprint, Story
from pipeline.replay import replay_log
from pipeline.stages.cluster.measure import measure
from pipeline.stages.cluster.state import ClusterState
from pipeline.stages.fingerprint import fingerprint
from pipeline.stages.normalise import normalise
from pipeline.stages.rules import ClusterRule, DetectRule
from pipeline.stages.weights import Weights

NOON = datetime(2000, 1, 1, 12, tzinfo=UTC)


def warm_up(cluster_rule: ClusterRule, detect_rule: DetectRule, weights: Weights) -> None:
    """Run stories, a correction, a move by hand, two bursts of a cluster, and the death of all clusters through all stages."""
    log = _log(timedelta(microseconds=detect_rule.window), timedelta(microseconds=cluster_rule.look_back))
    for _ in replay_log(log, cluster_rule, replace(detect_rule, threshold=1, min_publishers=1), weights):
        pass
    measure(ClusterState(background("en"), cluster_rule, weights))
    normalise(_story(0, "A headline whose language nobody names", language=None), NOON)


def _log(window: timedelta, look_back: timedelta) -> Iterator[tuple[int, Fingerprint | Amendment]]:
    later = NOON + window + 2 * look_back
    body = "A strong earthquake hit the city on Saturday morning, and people left their houses for the streets."
    titles = ["Quake hits city", "Strong quake hits city", "Fire in port", "Fire in port after quake"] * 2
    stories = [
        *(_story(number, f"{title} {number}") for number, title in enumerate(titles)),
        _story(20, "Quake hits city again", body=body),
        _story(21, "Tremor shakes a town", body=body),
        _story(0, "Quake hits city: 12 hurt"),
        *(_story(number, f"Quake hits city {number}", at=NOON + window / 2) for number in (22, 23, 24)),
    ]
    fingerprints = [fingerprint(normalise(story, story.crawled_at)) for story in stories]
    yield from enumerate(fingerprints)
    moved = [fingerprints[0].story.id]
    yield 100, Amendment(id="warm-up", edition="en", action="split", by="warm-up", stories=moved, at=NOON)
    yield 101, fingerprint(normalise(_story(30, "Rain ends", at=later), later))


def _story(
    number: int, title: str, *, at: datetime = NOON, body: str | None = None, language: str | None = "en"
) -> Story:
    return Story(
        url=f"https://news.example/{number}",
        title=title,
        publisher="Example",
        crawled_at=at,
        body=body,
        language=language,
    )


if __name__ == "__main__":
    settings = load()
    warm_up(settings.cluster_rule(), settings.detect_rule(), settings.score_weights())
