"""Cluster: what joins, what merges, and that the state is a function of its rows."""

from dataclasses import replace

from pipeline.languages.background import background
from pipeline.languages.words import tokenise
from pipeline.stages.cluster.stage import cluster
from pipeline.stages.cluster.state import ClusterState
from pipeline.stages.rules import ClusterRule
from tests.make import fingerprinted
from tests.stages.cluster.clustering import NOTHING, RULE, picture, run


def test_stories_of_one_event_share_a_cluster_and_others_do_not():
    edition = ClusterState(NOTHING)
    outcomes = run(
        edition,
        [
            fingerprinted("a", "earthquake strike nepal capital"),
            fingerprinted("b", "earthquake strike nepal village", 5),
            fingerprinted("c", "bank cut interest rate", 6),
            fingerprinted("d", "nepal earthquake toll capital", 9),
        ],
    )
    a, b, c, d = (outcome.assignment.cluster_id for outcome in outcomes)
    assert a == b == d != c


def test_a_story_beyond_the_look_back_opens_its_own_cluster():
    edition = ClusterState(NOTHING, RULE)
    text = "earthquake strike nepal capital"
    first, second = run(edition, [fingerprinted("a", text), fingerprinted("b", text, 3 * 60 + 1)])
    assert first.assignment.cluster_id != second.assignment.cluster_id
    assert second.expired.rows == ["a"]
    assert second.expired.clusters == [first.assignment.cluster_id]


def test_a_late_story_is_marked_and_kept():
    edition = ClusterState(NOTHING, RULE)
    _, late = run(edition, [fingerprinted("a"), fingerprinted("b", "old news", -200)])
    assert late.assignment.late


def test_a_repeated_story_changes_nothing():
    edition = ClusterState(NOTHING)
    run(edition, [fingerprinted("a")])
    before = picture(edition)
    assert cluster(edition, fingerprinted("a", minutes=7), 1) is None
    assert picture(edition) == before


def test_a_corrected_story_stays_in_its_cluster_at_its_time_with_its_new_text():
    edition = ClusterState(NOTHING)
    first, _, corrected = run(
        edition,
        [
            fingerprinted("a", "earthquake strike nepal capital"),
            fingerprinted("b", "earthquake strike nepal village", 5),
            fingerprinted("a", "bank cut interest rate", 90),
        ],
    )
    row = corrected.assignment
    assert (row.revision, row.cluster_id, row.position) == (True, first.assignment.cluster_id, 2)
    assert row.story.title == "Bank cut interest rate"
    assert row.story.crawled_at == first.assignment.story.crawled_at
    (state,) = corrected.clusters
    assert (state.id, state.stories, state.headline) == (first.assignment.cluster_id, 2, "Bank cut interest rate")
    assert state.first_seen == first.assignment.story.crawled_at
    again = cluster(edition, fingerprinted("c", "earthquake strike nepal capital", 91), 3).assignment
    assert again.cluster_id == first.assignment.cluster_id, "what it is matched by stays"


def test_a_retracted_story_does_not_count_until_it_is_back():
    edition = ClusterState(NOTHING)
    text = "earthquake strike nepal capital"
    outcomes = run(
        edition,
        [
            fingerprinted("a", text, publisher="p"),
            fingerprinted("b", text, 1, publisher="q"),
            fingerprinted("b", text, 2, publisher="q", retracted=True),
            fingerprinted("b", text, 3, publisher="q", retracted=True),
            fingerprinted("b", text, 4, publisher="q"),
        ],
    )
    counts = [outcome and (outcome.clusters[-1].stories, outcome.clusters[-1].publishers) for outcome in outcomes]
    assert counts == [(1, 1), (2, 2), (1, 1), None, (2, 2)]


def test_a_cluster_shows_no_headline_that_was_retracted():
    edition = ClusterState(NOTHING)
    text = "earthquake strike nepal capital"
    outcomes = run(
        edition,
        [
            fingerprinted("a", text),
            fingerprinted("a", text, 1, retracted=True),
            fingerprinted("b", text, 2),
            fingerprinted("a", text, 3),
        ],
    )
    title = "Earthquake strike nepal capital"
    assert [outcome.clusters[-1].headline for outcome in outcomes] == [title, None, None, title]


def test_a_story_of_a_merged_cluster_is_revised_in_the_survivor():
    edition = ClusterState(background("en"))
    stories, outcomes = bridged(ClusterRule(), edition)
    revised = cluster(edition, fingerprinted("1", "another text", 500), len(stories))
    assert revised.assignment.cluster_id == outcomes[0].assignment.cluster_id


def test_a_story_without_words_is_alone():
    edition = ClusterState(NOTHING)
    outcomes = run(edition, [fingerprinted("a", ""), fingerprinted("b", "")])
    assert outcomes[0].assignment.cluster_id != outcomes[1].assignment.cluster_id


def bridged(rule, edition=None):
    """Two clusters about fats, and a story that shows them to be one."""
    headlines = [
        ("study finds no link between saturated fats and heart disease", 0),
        ("making sense of dietary oils and fats", 169),
        ("do saturated fats really cause heart disease", 203),
        ("dietary fats and your heart", 474),
    ]
    stories = [fingerprinted(str(n), " ".join(tokenise(text, "en")[0]), at) for n, (text, at) in enumerate(headlines)]
    return stories, run(edition or ClusterState(background("en"), rule), stories)


def test_merging_keeps_the_id_of_the_older_cluster():
    stories, (oldest, younger, same, bridge) = bridged(ClusterRule())
    assert same.assignment.cluster_id == oldest.assignment.cluster_id != younger.assignment.cluster_id
    assert bridge.assignment.merged == [younger.assignment.cluster_id]
    assert bridge.assignment.cluster_id == oldest.assignment.cluster_id
    merged, survivor = bridge.clusters
    assert (merged.merged_into, merged.stories) == (survivor.id, 0)
    assert (survivor.stories, survivor.first_seen) == (4, stories[0].story.crawled_at)


def test_clusters_that_would_be_too_large_do_not_merge():
    _, (*_, bridge) = bridged(replace(ClusterRule(), largest=3))
    assert bridge.assignment.merged == []


def test_a_cluster_that_is_full_takes_in_no_more():
    edition = ClusterState(NOTHING, replace(RULE, largest=3))
    outcomes = run(edition, [fingerprinted(f"s{n}", "quake strikes city", n) for n in range(5)])
    ids = [outcome.assignment.cluster_id for outcome in outcomes]
    assert ids[0] == ids[1] == ids[2] != ids[3] == ids[4]


def test_a_lead_helps_to_match_and_weighs_less_than_the_headline():
    edition = ClusterState(NOTHING)
    (outcome,) = run(edition, [fingerprinted("a", "quake city", body="quake tremor rubble")])
    weights = outcome.assignment.weights
    assert set(weights) == {"quake", "city", "tremor", "rubble"}
    assert weights["tremor"] < weights["city"]
