"""Chunks: every record is handed over once, in order, and acknowledged with its own chunk."""

import asyncio
from collections import defaultdict

from aiokafka.structs import ConsumerRecord
from faust.types.tuples import TP
from hypothesis import given
from hypothesis import strategies as st

from agents.transport.chunks import CHUNK_RECORDS, ChunkScheduler
from tests.agents.transport.helpers import consumer_of

HERE = TP("stories", 0)


def record(offset):
    return ConsumerRecord("stories", 0, offset, 1_000, 0, None, b"value", None, 0, 5, ())


def consumer(read=None, committed=None):
    kafka = consumer_of("stories")
    kafka._read_offset[HERE], kafka._committed_offset[HERE] = read, committed
    return kafka


def to_commit(kafka):
    """The offset that Faust would commit now."""
    return kafka._new_offset(HERE)


@given(st.lists(st.integers(0, 1_000), unique=True, min_size=1).map(sorted), st.integers(1, 50))
def test_after_each_chunk_what_was_worked_on_and_no_more_is_committed(offsets, size):
    kafka = consumer(read=0, committed=0)
    for start in range(0, len(offsets), size):
        part = offsets[start : start + size]
        chunk = kafka._to_message(HERE, [record(offset) for offset in part])
        kafka._read_offset[HERE] = chunk.offset
        assert to_commit(kafka) is None
        chunk.incref()
        assert chunk.ack(kafka)
        kafka._committed_offset[HERE] = to_commit(kafka)
        assert kafka._committed_offset[HERE] == part[-1] + 1


def test_a_chunk_that_is_done_before_an_earlier_one_waits_for_it():
    kafka = consumer(read=5, committed=5)
    first = kafka._to_message(HERE, [record(5), record(6)])
    kafka._read_offset[HERE] = 6
    second = kafka._to_message(HERE, [record(7), record(8)])
    second.incref()
    second.ack(kafka)
    assert to_commit(kafka) is None
    first.incref()
    first.ack(kafka)
    assert to_commit(kafka) == 9


def test_a_chunk_that_comes_again_after_a_rebalance_is_committed_at_once():
    kafka = consumer(read=5, committed=5)
    before = kafka._to_message(HERE, [record(6), record(7)])
    before.incref()
    before.ack(kafka)  # ... when its partition was given away and back already, and what was read is read again
    again = kafka._to_message(HERE, [record(offset) for offset in range(5, 10)])
    again.incref()
    again.ack(kafka)
    assert to_commit(kafka) == 10


def test_nothing_is_committed_before_the_first_read_record():
    kafka = consumer()
    chunk = kafka._to_message(HERE, [record(7), record(8)])
    assert (chunk.first, chunk.offset) == (7, 8)


@given(st.dictionaries(st.integers(0, 5), st.integers(0, 1_000), max_size=6))
def test_the_scheduler_hands_over_everything_in_order_and_in_turn(counts):
    fetched = {TP("stories", partition): [record(n) for n in range(count)] for partition, count in counts.items()}
    seen = defaultdict(list)
    turns = []
    for tp, records in ChunkScheduler().iterate(fetched):
        assert 0 < len(records) <= CHUNK_RECORDS
        seen[tp] += records
        turns.append(tp)
    assert seen == {tp: records for tp, records in fetched.items() if records}
    longest = max(counts.values(), default=0)
    assert len(turns) == len(set(turns)) or longest > CHUNK_RECORDS
    assert turns[: len(seen)] == list(dict.fromkeys(turns))


def test_a_gap_is_left_to_the_chunk_behind_it():
    kafka = consumer(read=3, committed=3)
    asyncio.run(kafka._add_gap(HERE, 4, 9))
    assert not kafka._gap
    assert kafka._to_message(HERE, [record(9)]).first == 4


def test_a_chunk_is_acknowledged_once():
    kafka = consumer(read=3, committed=3)
    chunk = kafka._to_message(HERE, [record(4)])
    assert kafka.ack(chunk)
    assert not kafka.ack(chunk)
    assert kafka._acked[HERE] == [3, 4] or kafka._acked[HERE] == [4]


def test_a_chunk_of_a_topic_that_faust_acknowledges_nothing_of_is_not_committed():
    kafka = consumer(read=3, committed=3)
    kafka.app.topics._acking_topics.clear()
    assert not kafka.ack(kafka._to_message(HERE, [record(4)]))
    assert to_commit(kafka) is None
