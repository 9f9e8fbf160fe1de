"""Chunks: every record is handed over once, in order, and acknowledged with its own chunk."""

import asyncio
from collections import defaultdict
from types import SimpleNamespace

from aiokafka.structs import ConsumerRecord
from faust.transport.drivers.aiokafka import Consumer
from faust.types.tuples import TP
from hypothesis import given
from hypothesis import strategies as st

from agents.chunks import LONGEST, ChunkScheduler, _leave_gap, _to_chunk

HERE = TP("stories", 0)


def record(offset):
    return ConsumerRecord("stories", 0, offset, 1_000, 0, None, b"value", None, 0, 5, ())


def consumer(read=None, committed=None):
    return SimpleNamespace(
        app=SimpleNamespace(consumer_generation_id=1),
        _read_offset=defaultdict(lambda: None, {HERE: read}),
        _committed_offset={HERE: committed},
        _acked=defaultdict(list),
        _acked_index=defaultdict(set),
        _gap=defaultdict(list),
        _n_acked=0,
        _waiting_for_ack=None,
    )


def to_commit(kafka):
    """The offset that Faust would commit now."""
    return Consumer._new_offset(kafka, HERE)


@given(st.lists(st.integers(0, 1_000), unique=True, min_size=1).map(sorted), st.integers(1, 50))
def test_after_each_chunk_what_was_worked_on_and_no_more_is_committed(offsets, size):
    kafka = consumer(read=0, committed=0)
    for start in range(0, len(offsets), size):
        part = offsets[start : start + size]
        chunk = _to_chunk(kafka, HERE, [record(offset) for offset in part])
        kafka._read_offset[HERE] = chunk.offset
        assert to_commit(kafka) is None
        chunk.incref()
        assert chunk.ack(kafka)
        kafka._committed_offset[HERE] = to_commit(kafka)
        assert kafka._committed_offset[HERE] == part[-1] + 1


def test_a_chunk_that_is_done_before_an_earlier_one_waits_for_it():
    kafka = consumer(read=5, committed=5)
    first = _to_chunk(kafka, HERE, [record(5), record(6)])
    kafka._read_offset[HERE] = 6
    second = _to_chunk(kafka, HERE, [record(7), record(8)])
    second.incref()
    second.ack(kafka)
    assert to_commit(kafka) is None
    first.incref()
    first.ack(kafka)
    assert to_commit(kafka) == 9


def test_a_chunk_that_comes_again_after_a_rebalance_is_committed_at_once():
    kafka = consumer(read=5, committed=5)
    before = _to_chunk(kafka, HERE, [record(6), record(7)])
    before.incref()
    before.ack(kafka)  # ... when its partition was given away and back already, and what was read is read again
    again = _to_chunk(kafka, HERE, [record(offset) for offset in range(5, 10)])
    again.incref()
    again.ack(kafka)
    assert to_commit(kafka) == 10


def test_nothing_is_committed_before_the_first_read_record():
    kafka = consumer()
    chunk = _to_chunk(kafka, HERE, [record(7), record(8)])
    assert (chunk.first, chunk.offset) == (7, 8)


@given(st.dictionaries(st.integers(0, 5), st.integers(0, 1_000), max_size=6))
def test_the_scheduler_hands_over_everything_in_order_and_in_turn(counts):
    fetched = {TP("stories", partition): [record(n) for n in range(count)] for partition, count in counts.items()}
    seen = defaultdict(list)
    turns = []
    for tp, records in ChunkScheduler().iterate(fetched):
        assert 0 < len(records) <= LONGEST
        seen[tp] += records
        turns.append(tp)
    assert seen == {tp: records for tp, records in fetched.items() if records}
    longest = max(counts.values(), default=0)
    assert len(turns) == len(set(turns)) or longest > LONGEST
    assert turns[: len(seen)] == list(dict.fromkeys(turns))


def test_a_gap_is_left_to_the_chunk_behind_it():
    kafka = consumer(read=3, committed=3)
    asyncio.run(_leave_gap(kafka, HERE, 4, 9))
    assert not kafka._gap
    assert _to_chunk(kafka, HERE, [record(9)]).first == 4
