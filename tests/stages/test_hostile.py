"""Streams that no newsroom sends: the two stages together stay bounded, and nobody breaks news alone."""

import pytest

from pipeline.languages.background import Background
from pipeline.similarity import minhash
from pipeline.stages import clustering, counting
from pipeline.stages.cluster import cluster
from pipeline.stages.detect import detect
from pipeline.stages.matchable import story_keys
from tests.make import fingerprinted


def run(stories):
    clusterings, detections = clustering.Edition(Background(0, {})), counting.Edition()
    updates = []
    for position, story in enumerate(stories):
        outcome = cluster(clusterings, story, position)
        updates += detect(detections, outcome.assignment).updates
    return clusterings, updates


def test_one_publisher_repeating_a_headline_breaks_nothing():
    stories = [fingerprinted(f"s{n}", "buy our tokens now today", n / 10, publisher="Spam Daily") for n in range(500)]
    _, updates = run(stories)
    assert updates == []


def test_nine_publishers_repeating_a_headline_break_nothing_and_ten_do():
    def flood(publishers):
        return [fingerprinted(f"s{n}", "quake strikes city", n, publisher=f"P{n % publishers}") for n in range(60)]

    assert run(flood(9))[1] == []
    assert next(update.state for update in run(flood(10))[1]) == "started"


@pytest.mark.parametrize("headline", ["", "quake"])
def test_headlines_of_no_or_one_word_are_taken(headline):
    clusterings, _ = run([fingerprinted(f"s{n}", headline, n) for n in range(40)])
    assert len(clusterings.clusters) == (1 if headline else 40)


def test_a_token_in_every_story_joins_nothing():
    stories = [fingerprinted(f"s{n}", f"video alpha{n} beta{n} gamma{n} delta{n}", n) for n in range(400)]
    clusterings, updates = run(stories)
    assert updates == []
    assert len(clusterings.clusters) > 300


def test_every_story_in_one_bucket_costs_no_more_than_its_capacity():
    text = "same eight words in every story of today"
    clusterings, _ = run([fingerprinted(f"s{n}", text, n / 50) for n in range(3_000)])
    rule = clusterings.rule
    keys = story_keys(rule, minhash.signature(text.split()), "0" * 16)
    numbers, shared = clusterings.matchable.buckets.query(keys)
    assert len(numbers) == rule.bucket_capacity
    assert set(shared.tolist()) == {rule.bands}


def test_a_flood_of_copies_is_linked_to_the_first():
    clusterings, _ = run([fingerprinted(f"s{n}", "quake strikes nepal capital today", n / 50) for n in range(300)])
    assert {row.duplicate_of for row in clusterings.rows.values()} == {None, "s0"}
