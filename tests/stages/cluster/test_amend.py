"""Corrections by hand of the clustering: what they change, and that a restored state is the one that was."""

from datetime import timedelta

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.codec import decode, encode
from pipeline.records import Amendment, StreamTime
from pipeline.stages.cluster.amend import amend
from pipeline.stages.cluster.restore import follow, restore
from pipeline.stages.cluster.stage import cluster
from pipeline.stages.cluster.state import ClusterState, advance
from pipeline.times import from_micros
from tests.make import NOON, fingerprinted, long_and_short
from tests.stages.cluster.clustering import NOTHING, RULE, facts, headlines, keep_rows, picture, run, sums

# A stream of stories, some of them revisions of one that came before, and of amendments that name what there is by number.
story_draws = st.tuples(headlines, st.integers(-120, 120), st.integers(0, 30), st.booleans(), st.sampled_from("pq"))
amendment_draws = st.tuples(
    st.sampled_from(["move", "split", "merge", "pin"]),
    st.lists(st.integers(0, 40), min_size=1, max_size=4),
    st.integers(0, 9),
)
mixed_streams = long_and_short(story_draws | amendment_draws)


def amendment(number, action, stories=(), clusters=(), **fields):
    return Amendment(
        id=f"a{number}",
        edition="en",
        action=action,
        by="ann",
        stories=list(stories),
        clusters=list(clusters),
        at=NOON + timedelta(minutes=20 * number),
        **fields,
    )


def drawn(edition, number, draw, made):
    """The next record of the log: a story, or an amendment of what the edition holds."""
    if len(draw) == 3:
        action, picks, at = draw
        stories = sorted(edition.seen) or ["none"]
        clusters = sorted([*edition.clusters, *edition.lifetimes.survivor]) or ["none"]
        named = [stories[pick % len(stories)] for pick in picks] if action in {"move", "split"} else []
        wanted = {"move": 1, "split": 0, "merge": 2, "pin": 1}[action]
        of = [clusters[(at + n) % len(clusters)] for n in range(wanted)]
        return amendment(number, action, named, of, event_id=f"e{of[0][1:]}" if action == "pin" else None)
    text, shift, back, retracted, publisher = draw
    story_id = made[-back].story.id if 0 < back <= min(12, len(made)) else f"s{number}"
    made.append(fingerprinted(story_id, text, 20 * number + shift, publisher=publisher, retracted=retracted))
    return made[-1]


def take(edition, record, position, rows):
    """Have the edition take in a record of its log; returns what it brings. `rows` becomes those that are kept."""
    if not isinstance(record, Amendment):
        outcome = cluster(edition, record, position)
        for amended in outcome.expired.amendments if outcome else ():
            del rows[amended]
        keep_rows(rows, outcome)
        return outcome
    outcome = amend(edition, record, position)
    if outcome:
        rows["time" if isinstance(outcome.row, StreamTime) else record.id] = outcome.row
    return outcome


def in_order(rows):
    """The rows as they come from a changelog."""
    return sorted((decode(encode(row), type(row)) for row in rows.values()), key=lambda row: row.position)


def log_of(stream):
    """The log that these draws make, with what each record brings."""
    edition, log, outcomes, made = ClusterState(NOTHING, RULE), [], [], []
    for number, draw in enumerate(stream):
        log.append(drawn(edition, number, draw, made))
        outcomes.append(take(edition, log[-1], number, _Sink()))
    return log, outcomes


class _Sink(dict):
    """Rows that nobody keeps."""

    def __delitem__(self, key):
        pass


@given(mixed_streams, st.integers(0, 40), st.integers(0, 40))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=300)
def test_a_crash_changes_no_answer(stream, survived, committed):
    """The changelog kept what was committed of a prefix; the log is delivered again from an earlier offset."""
    log, expected = log_of(stream)
    survived, committed = min(survived, len(log)), min(survived, committed)
    calm, crashed, rows = ClusterState(NOTHING, RULE), ClusterState(NOTHING, RULE), {}
    for position, record in enumerate(log):
        take(calm, record, position, rows if position < survived else _Sink())
        if position == survived - 1:
            restore(crashed, in_order(rows))
    for position, record in enumerate(log[committed:], committed):
        outcome = take(crashed, record, position, _Sink())
        assert outcome == (None if position < survived else expected[position])
    for edition in (calm, crashed):  # what died with the last story goes with the next
        advance(edition)
    assert picture(crashed) == picture(calm)


@given(mixed_streams, st.integers(0, 40))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
def test_a_state_that_follows_the_rows_of_another_is_equal_to_it(stream, begun):
    """A standby builds what there is when it begins, and takes in each row that is written then."""
    log, _ = log_of(stream)
    owner, standby, rows = ClusterState(NOTHING, RULE), ClusterState(NOTHING, RULE), {}
    for position, record in enumerate(log):
        if position == begun:
            restore(standby, in_order(rows))
        outcome = take(owner, record, position, rows)
        if outcome and position >= begun:
            row = outcome.assignment if hasattr(outcome, "assignment") else outcome.row
            follow(standby, [decode(encode(row), type(row))])
            assert picture(standby) == picture(owner)


@given(mixed_streams)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_clusters_hold_what_a_clustering_holds_that_put_their_stories_there(stream):
    """The sums and facts of each cluster are those of its stories, however they came there."""
    log, _ = log_of(stream)
    edition, rows = ClusterState(NOTHING, RULE), {}
    for position, record in enumerate(log):
        take(edition, record, position, rows)
    for living in edition.clusters.values():
        assert living.members
        fresh = ClusterState(NOTHING, RULE)
        for row in sorted((rows[story_id, False] for story_id in living.members), key=lambda row: row.position):
            restore(fresh, [msgspec.structs.replace(row, cluster_id="c", merged=[], stream_time=from_micros(0))])
        (alike,) = fresh.clusters.values()
        assert sums(edition, living) == sums(fresh, alike)
        assert facts(edition, living)[:5] == facts(fresh, alike)[:5]
        assert {edition.lifetimes.resolve(edition.seen[story_id].cluster_id) for story_id in living.members} == {
            living.id
        }
    assert {story_id for living in edition.clusters.values() for story_id in living.members} == edition.seen.keys()
    assert edition.window.spread == sum(len(living.members).bit_length() for living in edition.clusters.values())
    assert edition.amendments == {key for key in rows if isinstance(key, str)} - {"time"}


def held(*texts):
    """An edition that holds these headlines, ten minutes apart."""
    edition = ClusterState(NOTHING, RULE)
    run(edition, [fingerprinted(f"s{n}", text, 10 * n, publisher=f"p{n}") for n, text in enumerate(texts)])
    return edition


def cluster_of(edition, story_id):
    return edition.clusters[edition.lifetimes.resolve(edition.seen[story_id].cluster_id)]


QUAKE, FIRE = "quake hits city centre", "fire burns port warehouse"


def test_a_moved_story_is_in_the_other_cluster_and_what_is_like_it_follows():
    edition = held(QUAKE, QUAKE, FIRE, FIRE)
    quake, fire = cluster_of(edition, "s0"), cluster_of(edition, "s2")
    outcome = amend(edition, amendment(1, "move", ["s1"], [fire.id]), 4)
    assert (outcome.amended.cluster_id, [story.id for story in outcome.amended.moved]) == (fire.id, ["s1"])
    assert (quake.members, fire.members) == (["s0"], ["s2", "s3", "s1"])
    assert {state.id: (state.stories, state.publishers, state.position) for state in outcome.clusters} == {
        quake.id: (1, 1, 4),
        fire.id: (3, 3, 4),
    }


def test_the_first_story_that_leaves_a_cluster_takes_its_headline_along():
    edition = held(FIRE + " one", FIRE + " two", QUAKE)
    fire, quake = cluster_of(edition, "s0"), cluster_of(edition, "s2")
    assert cluster_of(edition, "s1") is fire
    states = {state.id: state for state in amend(edition, amendment(1, "move", ["s0"], [quake.id]), 3).clusters}
    assert states[fire.id].headline == (FIRE + " two").capitalize()
    assert states[quake.id].headline == (FIRE + " one").capitalize()
    assert states[fire.id].first_seen == NOON + timedelta(minutes=10)


def test_a_cluster_that_is_moved_whole_is_merged():
    edition = held(QUAKE, QUAKE, FIRE)
    quake, fire = cluster_of(edition, "s0"), cluster_of(edition, "s2")
    outcome = amend(edition, amendment(1, "move", ["s0", "s1"], [fire.id]), 3)
    assert (outcome.amended.moved, outcome.amended.merged) == ([], [quake.id])
    assert [(state.id, state.merged_into) for state in outcome.clusters] == [(quake.id, fire.id), (fire.id, None)]
    assert sorted(fire.members) == ["s0", "s1", "s2"]


def test_stories_that_are_split_off_have_a_cluster_of_their_own():
    edition = held(QUAKE, QUAKE, QUAKE, FIRE)
    outcome = amend(edition, amendment(1, "split", ["s1", "s2"]), 4)
    assert sorted(cluster_of(edition, "s1").members) == ["s1", "s2"]
    assert cluster_of(edition, "s0").members == ["s0"]
    assert cluster_of(edition, "s1").id == outcome.amended.cluster_id != cluster_of(edition, "s0").id


def test_merged_clusters_are_the_older_one():
    edition = held(QUAKE, FIRE)
    quake, fire = cluster_of(edition, "s0"), cluster_of(edition, "s1")
    outcome = amend(edition, amendment(1, "merge", clusters=[fire.id, quake.id]), 2)
    assert (outcome.amended.cluster_id, outcome.amended.merged) == (quake.id, [fire.id])
    assert cluster_of(edition, "s1") is quake


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (("move", ["nobody"], ["QUAKE"]), "story 'nobody' is in no cluster that lives"),
        (("move", ["s0"], ["c0"]), "no cluster c0 lives any more: the look-back does not reach its last story"),
        (("move", ["s0"], ["QUAKE"]), "the stories are in cluster QUAKE already"),
        (("split", ["s0", "s1"]), "these are all stories of cluster QUAKE: there is nothing to split them off from"),
        (("merge", [], ["QUAKE", "QUAKE"]), "they are one cluster already: QUAKE"),
        (("dismiss", [], ["QUAKE"]), "event e0 is none of cluster QUAKE"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(asked, reason):
    edition = held(QUAKE, QUAKE, FIRE)
    quake = cluster_of(edition, "s0").id
    before = picture(edition)[:-1]
    action, stories, clusters = (*asked, [])[:3]
    named = [quake if name == "QUAKE" else name for name in clusters]
    asked = amendment(1, action, stories, named, event_id="e0" if action == "dismiss" else None)
    outcome = amend(edition, asked, 3)
    assert outcome.amended.refused == reason.replace("QUAKE", quake)
    assert (outcome.clusters, picture(edition)[:-1]) == ([], before)


def test_an_amendment_that_comes_again_changes_nothing():
    edition = held(QUAKE, QUAKE, FIRE)
    asked = amendment(1, "move", ["s1"], [cluster_of(edition, "s2").id])
    assert amend(edition, asked, 3) is not None
    assert amend(edition, asked, 3) is None
    assert amend(edition, asked, 4) is None


def test_clusters_that_a_story_was_moved_between_die_together():
    edition = held(QUAKE, QUAKE, FIRE, FIRE)
    quake, fire = cluster_of(edition, "s0").id, cluster_of(edition, "s2").id
    amend(edition, amendment(1, "move", ["s1"], [fire]), 4)
    late = fingerprinted("s4", FIRE, 200)  # the look-back reaches the fire no more, but for this
    assert cluster(edition, late, 5).expired.clusters == []
    assert {quake, fire} <= edition.clusters.keys()
    outcome = cluster(edition, fingerprinted("s5", "strike halts trains", 500), 6)
    assert set(outcome.expired.clusters) == {quake, fire}
    assert outcome.expired.amendments == ["a1"]
    assert set(outcome.expired.rows) == {"s0", "s1", "s2", "s3", "s4"}
