"""Streams that no newsroom sends: the two stages together stay bounded, and nobody breaks news alone."""

from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np
import pytest

from pipeline.languages.background import Background
from pipeline.records import Story
from pipeline.similarity import minhash
from pipeline.similarity.buckets import query
from pipeline.stages.cluster.index import story_keys
from pipeline.stages.cluster.stage import cluster
from pipeline.stages.cluster.state import ClusterState
from pipeline.stages.detect.stage import detect
from pipeline.stages.detect.state import DetectState
from pipeline.stages.fingerprint import fingerprint
from pipeline.stages.normalise import normalise
from tests.make import fingerprinted

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def run(stories):
    cluster_states, detect_states = ClusterState(Background(0, {})), DetectState()
    updates = []
    for position, story in enumerate(stories):
        outcome = cluster(cluster_states, story, position)
        updates += detect(detect_states, outcome.assignment).updates
    return cluster_states, updates


def test_one_publisher_repeating_a_headline_breaks_nothing():
    stories = [fingerprinted(f"s{n}", "buy our tokens now today", n / 10, publisher="Spam Daily") for n in range(500)]
    _, updates = run(stories)
    assert updates == []


def test_nine_publishers_repeating_a_headline_break_nothing_and_ten_do():
    def flood(publishers):
        return [fingerprinted(f"s{n}", "quake strikes city", n, publisher=f"P{n % publishers}") for n in range(60)]

    assert run(flood(9))[1] == []
    assert next(update.state for update in run(flood(10))[1]) == "started"


LOOK_ALIKES = {
    "e": "\u0435\u00e9\u0451\uff45\u03b5",
    "o": "\u043e\u03bf\u00f6\u00f8",
    "a": "\u0430\u03b1\u00e1",
    "D": "\u1e0a\uff24",
    "i": "\u0456\u0131\u03b9",
}
UNSEEN = ["\u200b", "\u200d", "\u00ad", "\u202e", "\u2066", "\ufe0f", "\u0301", "\ufeff"]


def test_one_publisher_under_names_that_look_alike_breaks_nothing():
    random = Random(5)
    stories = []
    for n in range(300):
        name = "".join(random.choice(LOOK_ALIKES.get(letter, letter) + letter) for letter in "Daily Deco")
        cut = random.randrange(len(name))
        stories.append(
            Story(
                url=f"https://spam.example/{n}",
                title="Buy our golden tokens today",
                publisher=name[:cut] + random.choice(UNSEEN) + name[cut:],
                crawled_at=NOON + timedelta(seconds=n),
                language="en",
            )
        )
    assert len({story.publisher for story in stories}) > 250
    assert len({normalise(story, NOON + timedelta(days=1)).family for story in stories}) == 1
    _, updates = run([fingerprint(normalise(story, NOON + timedelta(days=1))) for story in stories])
    assert updates == []


@pytest.mark.parametrize("headline", ["", "quake"])
def test_headlines_of_no_or_one_word_are_taken(headline):
    cluster_states, _ = run([fingerprinted(f"s{n}", headline, n) for n in range(40)])
    assert len(cluster_states.clusters) == (1 if headline else 40)


def test_a_token_in_every_story_joins_nothing():
    stories = [fingerprinted(f"s{n}", f"video alpha{n} beta{n} gamma{n} delta{n}", n) for n in range(400)]
    cluster_states, updates = run(stories)
    assert updates == []
    assert len(cluster_states.clusters) > 300


def test_every_story_in_one_bucket_costs_no_more_than_its_capacity():
    text = "same eight words in every story of today"
    cluster_states, _ = run([fingerprinted(f"s{n}", text, n / 50) for n in range(3_000)])
    rule = cluster_states.rule
    numbers, shared = np.empty((2, rule.bands * rule.bucket_capacity), np.int64)
    count = query(cluster_states.window.buckets, story_keys(rule, minhash.signature(text.split())), numbers, shared)
    assert count == rule.bucket_capacity
    assert set(shared[:count].tolist()) == {rule.bands}


def test_a_flood_of_copies_is_linked_to_the_first():
    cluster_states, _ = run([fingerprinted(f"s{n}", "quake strikes nepal capital today", n / 50) for n in range(300)])
    assert {cluster_states.index.original(number) for number in range(300)} == {"s0"}
