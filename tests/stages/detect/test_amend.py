"""Corrections by hand of counts and events."""

from datetime import timedelta

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.codec import InvalidRecord, decode, encode
from pipeline.records import Amended, AmendedDetection, Amendment, MovedStory
from pipeline.stages.detect.amend import amend_events
from pipeline.stages.detect.restore import follow, restore
from pipeline.stages.detect.stage import check_moves, detect
from pipeline.stages.detect.state import DetectState, advance
from pipeline.times import from_micros
from tests.make import NOON, assignment, long_and_short
from tests.stages.detect.counting import RULE, burst, picture, run

# A stream of stories of a few clusters, and of amendments that name what there is by number.
story_draws = st.tuples(st.sampled_from("aaab"), st.sampled_from([0, 0, 0, 1, -30]), st.sampled_from("pqrs"))
amendment_draws = st.tuples(
    st.sampled_from(["move", "split", "merge", "dismiss", "reinstate", "pin"]),
    st.lists(st.integers(0, 40), min_size=1, max_size=4),
    st.integers(0, 9),
    st.booleans(),
)
mixed_streams = long_and_short(story_draws | amendment_draws)


def amended(state, position, action, cluster_id=None, *, moved=(), merged=(), event_id=None, headline=None):
    """What the cluster stage makes of an amendment."""
    asked = Amendment(
        id=f"m{position}",
        edition="en",
        action=action,
        by="ann",
        event_id=event_id,
        headline=headline,
        at=NOON + timedelta(minutes=position),
    )
    return Amended(
        amendment=asked,
        position=position,
        stream_time=from_micros(state.lifetimes.stream_time),
        cluster_id=cluster_id,
        moved=list(moved),
        merged=list(merged),
    )


def moved_of(state, *story_ids):
    """These stories, as the clusters have them."""
    return [
        MovedStory(id=story.id, position=story.position, crawled_at=from_micros(story.time), cluster_id=counted.id)
        for counted in state.clusters.values()
        for story in [*counted.stories, *counted.retracted]
        if story.id in story_ids
    ]


def drawn(state, position, draw):
    """The next record of the log: a story, or an amendment of what is counted."""
    clusters = sorted(state.clusters)
    if len(draw) == 3:
        cluster_id, shift, publisher = draw
        living = state.lifetimes.resolve(f"c{cluster_id}")
        return assignment(position, living, f"s{position}", minutes=7 * position + shift, publisher=publisher)
    action, picks, at, undo = draw
    if not clusters:
        return assignment(position, "ca", f"s{position}", minutes=7 * position)
    target = clusters[at % len(clusters)]
    if action in {"dismiss", "reinstate", "pin"}:
        events = [mark.event_id for mark in state.clusters[target].events]
        if events:
            headline = None if undo or action != "pin" else f"pinned {position}"
            return amended(state, position, action, target, event_id=events[picks[0] % len(events)], headline=headline)
    others = [cluster_id for cluster_id in clusters if cluster_id != target]
    if action == "merge" and others:
        return amended(state, position, action, target, merged=others[:1])
    stories = [story.id for cluster_id in others for story in state.clusters[cluster_id].stories]
    named = {stories[pick % len(stories)] for pick in picks} if stories else set()
    taken = moved_of(state, *named)
    left = {of: sum(story.cluster_id == of for story in taken) for of in others}
    if not taken or any(count == len(state.clusters[of].stories) for of, count in left.items() if count):
        return assignment(position, target, f"s{position}", minutes=7 * position)
    new = f"cn{position}" if action == "split" else target
    return amended(state, position, "split" if action == "split" else "move", new, moved=taken)


def take(state, record, rows):
    outcome = amend_events(state, record) if isinstance(record, Amended) else detect(state, record)
    if outcome is None:
        return None
    expired = getattr(outcome, "expired", None)
    for key in [*expired.rows, *expired.amendments] if expired else ():
        rows.pop(key, None)
    rows[record.amendment.id if isinstance(record, Amended) else record.story.id] = outcome.row
    return outcome.row, outcome.updates


def in_order(rows):
    found = [decode(encode(row), type(row)) for row in rows.values()]
    return sorted(found, key=lambda row: (getattr(row, "assignment", None) or row.amended).position)


@given(mixed_streams, st.integers(0, 40), st.integers(0, 40))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=300)
def test_a_crash_changes_no_update(stream, survived, committed):
    """The changelog kept what was committed of a prefix; the log is delivered again from an earlier offset."""
    calm, crashed, rows, log, expected = DetectState(RULE), DetectState(RULE), {}, [], []
    survived, committed = min(survived, len(stream)), min(survived, committed, len(stream))
    for position, draw in enumerate(stream):
        log.append(drawn(calm, position, draw))
        expected.append(take(calm, log[-1], rows if position < survived else {}))
        if position == survived - 1:
            restore(crashed, in_order(rows))
    for position, record in enumerate(log[committed:], committed):
        assert take(crashed, record, {}) == (None if position < survived else expected[position])
    for state in (calm, crashed):
        advance(state)
    assert picture(crashed) == picture(calm)


@given(mixed_streams, st.integers(0, 40))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
def test_a_state_that_follows_the_rows_of_another_is_equal_to_it(stream, begun):
    owner, standby, rows = DetectState(RULE), DetectState(RULE), {}
    for position, draw in enumerate(stream):
        if position == begun:
            restore(standby, in_order(rows))
        outcome = take(owner, drawn(owner, position, draw), rows)
        if outcome and position >= begun:
            follow(standby, [decode(encode(outcome[0]), type(outcome[0]))])
            assert picture(standby) == picture(owner)


@given(mixed_streams)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_sequences_have_no_gap_and_what_was_dismissed_stays_over(stream):
    state, by_event, dismissed = DetectState(RULE), {}, set()
    for position, draw in enumerate(stream):
        record = drawn(state, position, draw)
        action = record.amendment.action if isinstance(record, Amended) else None
        for update in (take(state, record, {}) or (None, []))[1]:
            by_event.setdefault(update.event_id, []).append(update)
            if action == "reinstate":
                dismissed.discard(update.event_id)
            assert update.event_id not in dismissed or update.dismissed
            assert not update.dismissed or update.state == "ended"
            dismissed |= {update.event_id} if update.dismissed else set()
    for updates in by_event.values():
        assert [update.sequence for update in updates] == list(range(1, len(updates) + 1))
        assert [update.state for update in updates].count("started") == 1


def broken():
    """A state in which an event has broken, with its alert."""
    state = DetectState(RULE)
    return state, run(state, burst(5))[0]


def ask(state, *args, **kwargs):
    """The updates that an amendment brings at position 50."""
    return amend_events(state, amended(state, 50, *args, **kwargs)).updates


def test_a_dismissed_event_is_over_and_does_not_come_back():
    state, alert = broken()
    (update,) = ask(state, "dismiss", "ca", event_id=alert.event_id)
    assert (update.state, update.dismissed, update.sequence, update.amendment_id) == ("ended", True, 2, "m50")
    assert run(state, burst(20, at=6, first=60)) == []


def test_a_reinstated_event_is_active_again():
    state, alert = broken()
    ask(state, "dismiss", "ca", event_id=alert.event_id)
    (update,) = amend_events(state, amended(state, 51, "reinstate", "ca", event_id=alert.event_id)).updates
    assert (update.state, update.dismissed, update.reopened) == ("reopened", False, 1)
    assert [update.state for update in run(state, burst(5, at=6, first=60))] == ["updated"]


def test_a_pinned_headline_stays_until_it_is_let_go():
    state, alert = broken()
    (update,) = ask(state, "pin", "ca", event_id=alert.event_id, headline="What it is about")
    assert (update.state, update.headline) == ("updated", "What it is about")
    grown = run(state, burst(5, at=6, first=60))
    assert [update.headline for update in grown] == ["What it is about"]
    (update,) = amend_events(state, amended(state, 70, "pin", "ca", event_id=alert.event_id)).updates
    assert update.headline == alert.headline


def test_an_event_that_loses_stories_shows_those_it_has_left():
    state, alert = broken()
    run(state, burst(1, at=5, cluster_id="cb", first=20))
    (update,) = ask(state, "move", "cb", moved=moved_of(state, "ca1"))
    assert (update.event_id, update.state, update.stories_total) == (alert.event_id, "updated", 4)
    assert "ca1" not in {story.id for story in update.stories}


def test_a_cluster_breaks_by_the_story_that_is_moved_to_it():
    state = DetectState(RULE)
    assert run(state, [*burst(3), *burst(2, at=3, cluster_id="cb", first=3)]) == []
    (update,) = ask(state, "move", "ca", moved=moved_of(state, "cb3"))
    assert (update.state, update.cluster_id, update.stories_in_window, update.caused_by) == ("started", "ca", 4, None)


def test_clusters_that_are_merged_may_break_and_have_one_event():
    state = DetectState(RULE)
    assert run(state, [*burst(3), *burst(3, at=3, cluster_id="cb", first=3)]) == []
    (update,) = ask(state, "merge", "ca", merged=["cb"])
    assert (update.state, update.stories_total) == ("started", 6)
    state = DetectState(RULE)
    first, second = run(state, [*burst(4), *burst(4, at=4, cluster_id="cb", first=4)])
    gave_way, update = ask(state, "merge", "ca", merged=["cb"])
    assert (gave_way.event_id, gave_way.state, gave_way.merged_into) == (second.event_id, "ended", first.event_id)
    assert (update.event_id, update.state, update.stories_total) == (first.event_id, "updated", 8)


def test_a_dismissed_event_gives_way_to_one_that_was_not():
    state = DetectState(RULE)
    first, second = run(state, [*burst(4), *burst(4, at=4, cluster_id="cb", first=4)])
    ask(state, "dismiss", "ca", event_id=first.event_id)
    gave_way, update = amend_events(state, amended(state, 51, "merge", "ca", merged=["cb"])).updates
    assert (gave_way.event_id, gave_way.merged_into) == (first.event_id, second.event_id)
    assert (update.event_id, update.state, update.stories_total) == (second.event_id, "updated", 8)


def test_an_end_stays_where_it_was_when_the_event_is_corrected():
    state, alert = broken()
    (ended,) = run(state, [assignment(60, "cz", "later", minutes=100)])
    assert (ended.state, ended.event_id) == ("ended", alert.event_id)
    assert ended.ended_at == NOON + timedelta(minutes=4, hours=1)  # an hour, the window, after its last story
    run(state, [assignment(61, "cz", "much later", minutes=150)])
    (corrected,) = amend_events(state, amended(state, 62, "pin", "ca", event_id=alert.event_id, headline="X")).updates
    assert (corrected.state, corrected.at, corrected.ended_at) == (
        "ended",
        NOON + timedelta(minutes=150),
        ended.ended_at,
    )


def test_an_event_that_went_on_in_another_says_so_also_when_it_is_corrected():
    state = DetectState(RULE)
    first, second = run(state, [*burst(4), *burst(4, at=4, cluster_id="cb", first=4)])
    amend_events(state, amended(state, 50, "pin", "cb", event_id=second.event_id, headline="Pinned"))
    _, update = amend_events(state, amended(state, 51, "merge", "ca", merged=["cb"])).updates
    assert (update.event_id, update.headline) == (first.event_id, "Pinned")
    (corrected,) = amend_events(state, amended(state, 52, "dismiss", "ca", event_id=second.event_id)).updates
    assert (corrected.event_id, corrected.merged_into) == (second.event_id, first.event_id)


@pytest.mark.parametrize(
    "changes",
    [
        {"merged": ["ca"]},
        {"merged": ["cb", "cb"]},
        {"moved": [MovedStory(id="x", position=0, crawled_at=NOON, cluster_id="ca")]},
        {"moved": [MovedStory(id="x", position=0, crawled_at=NOON, cluster_id="cb")] * 2},
        {"moved": [MovedStory(id="x", position=0, crawled_at=NOON, cluster_id="cb")], "merged": ["cb"]},
        {"refused": "no"},
    ],
)
def test_what_no_cluster_stage_writes_is_refused(changes):
    state, _ = broken()
    check_moves(amended(state, 50, "move", "ca", merged=["cb"]))
    with pytest.raises(InvalidRecord, match="Wrong Amended: "):
        check_moves(msgspec.structs.replace(amended(state, 50, "move", "ca"), **changes))


def test_an_amendment_of_what_was_never_counted_is_invalid():
    state, _ = broken()
    stranger = MovedStory(id="x", position=0, crawled_at=NOON, cluster_id="ca")
    with pytest.raises(InvalidRecord, match="story 'x' was never counted"):
        ask(state, "move", "ca", moved=[stranger])
    with pytest.raises(InvalidRecord, match="nothing is counted in cluster 'cx'"):
        ask(state, "merge", "cx", merged=["ca"])
    with pytest.raises(InvalidRecord, match="has no event 'e9'"):
        ask(state, "dismiss", "ca", event_id="e9")
    assert state.position == 4


def test_a_refused_amendment_changes_nothing():
    state, _ = broken()
    refused = Amended(
        amendment=amended(state, 50, "merge").amendment, position=50, stream_time=NOON, refused="no such cluster"
    )
    assert amend_events(state, refused) is None
    assert state.position == 4


def test_the_rows_of_amendments_go_with_their_clusters():
    state, _ = broken()
    run(state, burst(1, at=5, cluster_id="cb", first=20))
    row = amend_events(state, amended(state, 50, "move", "cb", moved=moved_of(state, "ca1"))).row
    assert isinstance(row, AmendedDetection)
    assert row.marks.keys() == {"ca", "cb"}
    expired = detect(state, assignment(60, "cz", "late", minutes=600)).expired
    assert expired.amendments == ["m50"]
