"""Stream time: what stories and ticks do to it, what late stories may do, and that a crash changes nothing of it."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.codec import decode, encode
from pipeline.languages.background import Background
from pipeline.records import Assignment, Detection, StreamTime, Tick
from pipeline.replay import Step, replay_log
from pipeline.stages.cluster import restore as cluster_restore
from pipeline.stages.cluster import stage as cluster_stage
from pipeline.stages.cluster import state as cluster_state
from pipeline.stages.detect import restore as detect_restore
from pipeline.stages.detect import stage as detect_stage
from pipeline.stages.detect import state as detect_state
from pipeline.stages.fingerprint import fingerprint
from pipeline.stages.rules import ClusterRule, DetectRule
from pipeline.times import HOUR
from tests.make import NOON, assignment, revision, story

NOTHING = Background(0, {})
RULE = ClusterRule(look_back=3 * HOUR)
COUNT = DetectRule(threshold=3, window=HOUR, min_publishers=2, look_back=3 * HOUR)


def came(name, minutes, text="quake city toll dead", received=None):
    """A story of this time, received then or at another."""
    made = story(name, text, minutes)
    at = NOON + timedelta(minutes=minutes if received is None else received)
    return fingerprint(made.__replace__(received_at=at) if hasattr(made, "__replace__") else replaced(made, at))


def replaced(made, at):
    return decode(encode(made).replace(encode(made.received_at), encode(at)), type(made))


def tick(minutes):
    return Tick(edition="en", at=NOON + timedelta(minutes=minutes))


def run(log):
    return list(replay_log(enumerate(log), RULE, COUNT))


def told(steps):
    return [(update.state, update.sequence) for step in steps for update in step.updates]


def burst(count, at=0.0, received=None, name="s"):
    return [came(f"{name}{n}", at + n, received=received) for n in range(count)]


def test_an_event_ends_when_a_tick_says_that_its_window_is_over():
    steps = run([*burst(4), tick(63), tick(64), tick(65)])
    assert told(steps) == [("started", 1), ("ended", 2)]
    end = steps[-2].updates[0]
    assert (end.caused_by, end.position, end.at) == (None, 5, NOON + timedelta(minutes=64))
    assert end.stories


def test_an_event_ends_before_its_cluster_dies_however_long_the_silence():
    assert told(run([*burst(4), came("x", 100_000, "bank cut rate")])) == [("started", 1), ("ended", 2)]
    assert told(run([*burst(4), tick(100_000)])) == [("started", 1), ("ended", 2)]


def test_a_backfill_keeps_its_own_time_at_the_pace_of_the_clock():
    steps = run([*burst(4, received=900_000), tick(900_059), tick(900_064)])
    assert told(steps) == [("started", 1), ("ended", 2)]
    assert steps[-1].passed.stream_time == NOON + timedelta(minutes=67)


def test_a_tick_from_before_the_newest_story_changes_nothing():
    steps = run([*burst(4), tick(-500)])
    assert steps[-1].passed.stream_time == steps[-2].assignment.stream_time


def test_a_live_story_inside_a_backfill_makes_no_other_late():
    old = burst(40, received=900_000)
    steps = run([*old[:10], came("live", 899_990, received=900_000), *old[10:]])
    assert not any(step.assignment.late for step in steps)
    assert told(steps)[0] == ("started", 1)
    assert ("ended", 2) not in told(steps)[:2]


def test_live_stories_that_agree_end_a_backfill():
    live = [came(f"live{n}", 899_990 + n, "bank cut rate", received=900_000) for n in range(3)]
    steps = run([*burst(4, received=900_000), *live, came("old", 50, received=900_000)])
    assert steps[-1].assignment.late
    assert told(steps) == [("started", 1), ("ended", 2)]


def test_a_live_story_alone_ends_a_backfill_with_the_next_tick():
    steps = run([*burst(4, received=900_000), came("live", 899_999, "bank cut rate", received=900_000), tick(900_001)])
    assert told(steps) == [("started", 1), ("ended", 2)]


def test_late_stories_join_and_count_but_start_and_reopen_nothing():
    live = came("live", 900_000, "quake city toll dead")
    steps = run([live, *burst(40, received=900_000)])
    late = [step.assignment for step in steps[1:]]
    assert all(row.late for row in late)
    assert len({row.cluster_id for row in late}) == 1
    assert late[0].cluster_id != steps[0].assignment.cluster_id, "what happened years apart is not one event"
    assert told(steps) == []


def test_an_event_that_is_over_is_not_reopened_by_stories_out_of_order():
    steps = run([*burst(4), came("x", 90, "bank cut rate"), *burst(20, at=0.5, name="t")])
    assert told(steps) == [("started", 1), ("ended", 2)]


def test_a_story_that_comes_again_after_its_cluster_died_opens_another_cluster_and_event():
    steps = run([*burst(4), came("x", 900, "bank cut rate"), *burst(4, at=910), *burst(4, at=2_000)])
    alerts = [update for step in steps for update in step.updates if update.state == "started"]
    assert len({alert.event_id for alert in alerts}) == len(alerts) == 3
    assert len({alert.cluster_id for alert in alerts}) == 3


def test_an_id_that_stands_in_two_editions_opens_two_clusters():
    one, two = (fingerprint(story("same", edition=edition)) for edition in ("en", "de"))
    first, second = run([one, two])
    assert first.assignment.cluster_id != second.assignment.cluster_id


def test_what_has_fallen_silent_takes_no_memory():
    edition = cluster_state.ClusterState(NOTHING, RULE)
    for number, record in enumerate(burst(500)):
        cluster_stage.cluster(edition, record, number)
    assert cluster_stage.tick_clusters(edition, tick(5_000), 500).expired.rows
    small = cluster_state.ClusterState(NOTHING, RULE)
    assert edition.window.buckets.node.nbytes == small.window.buckets.node.nbytes
    assert len(edition.window.centroids.owners) == len(small.window.centroids.owners)
    assert cluster_stage.tick_clusters(edition, tick(6_000), 501) is None
    again = cluster_stage.cluster(edition, came("s7", 5_001), 502)
    assert again.assignment.stream_time > NOON + timedelta(minutes=5_000)


entries = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["quake city toll", "bank cut rate", "quake city dead", "fire port"]),
            st.sampled_from([0, 0, 0, 1, -30, -100, -400]),
            st.sampled_from([0, 0, 5, 500]),
        ),
        st.sampled_from([0, 10, 70, 300]),
    ),
    max_size=60,
)


def drawn(entries, step):
    """A log in which the broker's clock moves on `step` minutes a record; stories are older by what is drawn, ticks later."""
    log = []
    for number, entry in enumerate(entries):
        now = number * step
        if isinstance(entry, int):
            log.append(tick(now + entry))
        else:
            text, shift, delay = entry
            log.append(came(f"s{number}", now + shift - delay, text, received=now))
    return log


def test_nothing_that_was_late_or_over_is_told_as_new():
    @given(entries, st.integers(1, 60))
    @settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
    def law(entries, step):
        steps, over = run(drawn(entries, step)), {}
        for done in steps:
            for update in done.updates:
                if update.state != "ended":
                    assert isinstance(done, Step)
                if update.state == "started":
                    assert not done.assignment.late
                if over.get(update.event_id) is not None:
                    assert update.last_seen + timedelta(hours=1) >= update.at, "reopened though it was over"
                over[update.event_id] = update if update.state == "ended" else None

    law()


@pytest.mark.parametrize("stage", ["cluster", "detect"])
def test_a_crash_changes_nothing_in_a_log_with_ticks(stage):
    @given(entries, st.integers(1, 60), st.integers(0, 60))
    @settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
    def law(entries, step, crash):
        log = list(enumerate(drawn(entries, step)))
        if stage == "cluster":
            check_cluster(log, crash)
        else:
            check_detect(run(record for _, record in log), crash)

    law()


def check_cluster(log, crash):
    def work(edition, position, record):
        if isinstance(record, Tick):
            outcome = cluster_stage.tick_clusters(edition, record, position)
            return outcome, ("tick", None), outcome and outcome.stream_time
        outcome = cluster_stage.cluster(edition, record, position)
        return outcome, (record.story.id, False), outcome and outcome.assignment

    crashing(
        log,
        crash,
        lambda: cluster_state.ClusterState(NOTHING, RULE),
        work,
        cluster_restore.restore,
        lambda row: decode(encode(row), StreamTime if isinstance(row, StreamTime) else Assignment),
    )


def check_detect(steps, crash):
    def work(edition, position, step):
        if not isinstance(step, Step):
            outcome = detect_stage.tick_events(edition, step.passed)
            return outcome, ("tick", None), outcome and step.passed
        outcome = detect_stage.detect(edition, step.assignment)
        return outcome, (step.assignment.story.id, False), outcome and outcome.row

    crashing(
        list(enumerate(steps)),
        crash,
        lambda: detect_state.DetectState(COUNT),
        work,
        detect_restore.restore,
        lambda row: decode(encode(row), StreamTime if isinstance(row, StreamTime) else Detection),
    )


def crashing(log, crash, new, work, restore, again):
    """Work on a log twice, once with a crash in it after which the state is made of the rows; all that follows is equal."""

    def position_of(row):
        return row.assignment.position if isinstance(row, Detection) else row.position

    calm, rows, expected = new(), {}, []
    for number, (position, record) in enumerate(log):
        outcome, key, row = work(calm, position, record)
        expected.append(outcome)
        if outcome is not None and number < crash:
            for story_id in outcome.expired.rows:
                del rows[story_id, False]
            rows[key] = row
    crashed = new()
    restore(crashed, sorted(map(again, rows.values()), key=position_of))
    for number, (position, record) in enumerate(log):
        outcome, _, _ = work(crashed, position, record)
        if number >= crash:
            assert outcome == expected[number]
    assert crashed.lifetimes.stream_time == calm.lifetimes.stream_time


def test_live_stories_of_one_moment_are_as_many_after_a_crash():
    old = [came(f"s{n}", n, received=900_000) for n in range(3)]
    live = [came(name, 899_990, "bank cut rate", received=900_000) for name in ("x", "y", "z")]
    check_cluster(list(enumerate([*old, *live])), 5)
    steps = run([*old, *live])
    assert [step.assignment.late for step in steps] == [False] * 6
    assert steps[-1].assignment.stream_time == NOON + timedelta(minutes=899_990)


def test_an_event_whose_last_story_is_taken_back_untold_ends_in_time():
    """The third retraction is not told of at once; the window may have emptied by it all the same."""
    edition = detect_state.DetectState(COUNT)
    at = [0, 1, 2, 3, 4, 50]
    rows = [assignment(n, "ca", f"s{n}", minutes=minutes, publisher=f"p{n}") for n, minutes in enumerate(at)]
    rows.append(assignment(6, "cb", "other", minutes=80))
    taken_back = [(0, 0), (1, 1), (5, 50)]
    rows += [
        revision(7 + n, "ca", f"s{s}", minutes=m, publisher=f"p{s}", retracted=True)
        for n, (s, m) in enumerate(taken_back)
    ]
    states = [update.state for row in rows for update in detect_stage.detect(edition, row).updates]
    assert states == ["started", *["updated"] * 3, "ended"]
