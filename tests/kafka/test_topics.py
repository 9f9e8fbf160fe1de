"""The topics as they are declared."""

import pytest

from pipeline.config import Settings
from pipeline.kafka.topics import all_topics


@pytest.mark.parametrize(("replicas", "in_sync"), [(1, None), (2, None), (3, "2"), (4, "3"), (5, "3")])
def test_a_write_waits_for_most_replicas_where_there_are_three(replicas, in_sync):
    found = {topic.config.get("min.insync.replicas") for topic in all_topics(Settings(replication=replicas))}
    assert found == {in_sync}
