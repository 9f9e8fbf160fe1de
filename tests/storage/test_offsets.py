"""Stored offsets: what Postgres lacks of a topic is known exactly, whatever copy of it was restored, and whatever came since."""

import msgspec
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import migrate
from pipeline.storage.offsets import Stored, StoredOffset, continue_from, missing_from, skip_to, stored_offsets
from pipeline.storage.write import Refused, Writer
from tests.storage.dump import write
from tests.storage.test_write import records

TOPIC = "newsburst.assignments"
PLACE = (TOPIC, 0)


@pytest.fixture
def engine(database):
    migrate(database)
    made = create_engine(database)
    yield made
    made.dispose()


class Store:
    """A partition, the offsets that Postgres has of it, and how far Kafka thinks that the store is."""

    def __init__(self, uri, engine):
        self.uri, self.engine, self.writer = uri, engine, Writer(uri)
        self.present, self.read, self.committed, self.furthest = set(), 0, 0, 0
        self.copy = (set(), None)
        self.put(None)

    def store(self, count, commits):
        end = self.read + count
        self.writer.write([], [Stored(TOPIC, 0, self.read, end, max(end, self.furthest))])
        self.present |= set(range(self.read, end))
        self.read, self.furthest = end, max(self.furthest, end)
        self.committed = end if commits else self.committed

    def restart(self):
        self.read = self.committed

    def take_copy(self):
        self.copy = (set(self.present), stored_offsets(self.uri).get(PLACE))

    def go_back(self):
        present, row = self.copy
        self.present = set(present)
        self.put(row)

    def restore(self):
        lacks = self.lacks()
        if lacks is not None:
            self.read = self.committed = lacks
            continue_from(self.uri, [(*PLACE, lacks)])

    def lacks(self):
        return missing_from(stored_offsets(self.uri), *PLACE, self.committed)

    def put(self, row):
        with self.engine.begin() as connection:
            connection.execute(sa.text("DELETE FROM news.stored_offsets"))
            if row is not None:
                connection.execute(
                    sa.text("INSERT INTO news.stored_offsets VALUES (:topic, 0, :next, :missing)"),
                    {"topic": TOPIC, "next": row.next_offset, "missing": row.missing_from},
                )


steps = st.lists(
    st.tuples(st.just("store"), st.integers(1, 5), st.booleans())
    | st.sampled_from([("restart",), ("take_copy",), ("go_back",), ("restore",)]),
    max_size=14,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps)
def test_what_is_missing_is_known(database, engine, drawn):
    store = Store(database, engine)
    for name, *arguments in drawn:
        getattr(store, name)(*arguments)
        holes = set(range(store.furthest)) - store.present
        found = store.lacks()
        assert found is not None or not holes or min(holes) >= store.committed  # else it is read again anyway
        assert found is None or found == min(holes)
    store.restart()
    store.restore()
    while store.read < 80:
        store.store(5, commits=True)
    assert store.lacks() is None
    assert store.present >= set(range(80))
    store.writer.close()


def test_a_database_of_before_offsets_were_kept_counts_as_complete(database, engine):
    with engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO news.stored_offsets VALUES ('', 0, 0)"))
    writer = Writer(database)
    writer.write([], [Stored(TOPIC, 0, 500, 510, 510)])
    assert stored_offsets(database)[PLACE] == StoredOffset(510, None)
    writer.write([], [Stored(TOPIC, 0, 600, 610, 610)])
    assert stored_offsets(database)[PLACE] == StoredOffset(610, 510)
    writer.close()


def test_migrating_a_database_with_stories_says_that_the_past_is_unknown(database):
    migrate(database, "0011")
    migrate(database)
    assert stored_offsets(database) == {}
    write(database, records()[:3])
    migrate(database, "0011")
    migrate(database)
    assert stored_offsets(database) == {("", 0): StoredOffset(0, None)}


def test_offsets_are_stored_beside_records_that_postgres_refuses(database, engine):
    (first, *_) = records()
    refused = [msgspec.structs.replace(first, cluster_id="c" * 3_000 + "".join(map(chr, range(256, 9_000))))]
    writer = Writer(database)
    assert [index for index, _ in writer.write_acceptable(refused, [Stored(TOPIC, 0, 0, 7, 7)])] == [0]
    assert stored_offsets(database)[PLACE].next_offset == 7
    with pytest.raises(Refused):
        writer.write(refused, [Stored(TOPIC, 0, 7, 8, 8)])
    assert stored_offsets(database)[PLACE].next_offset == 7
    writer.close()


def test_a_topic_that_was_made_again_is_begun_anew(database, engine):
    writer = Writer(database)
    writer.write([], [Stored(TOPIC, 0, 0, 900, 900)])
    writer.write([], [Stored(TOPIC, 0, 0, 10, 12)])
    assert stored_offsets(database)[PLACE] == StoredOffset(10, None)
    writer.write([], [Stored(TOPIC, 0, 40, 50, 50)])
    assert stored_offsets(database)[PLACE] == StoredOffset(50, 10)
    writer.close()


def test_what_is_skipped_on_purpose_is_not_missing(database, engine):
    writer = Writer(database)
    writer.write([], [Stored(TOPIC, 0, 0, 10, 50)])
    skip_to(database, (*PLACE, 12))
    writer.write([], [Stored(TOPIC, 0, 12, 20, 50)])
    assert stored_offsets(database)[PLACE] == StoredOffset(20, None)
    writer.close()


def test_a_database_without_a_row_can_be_told_where_to_begin(database, engine):
    continue_from(database, [(*PLACE, 500)])
    assert missing_from(stored_offsets(database), *PLACE, 500) is None
