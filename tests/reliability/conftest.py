"""One broker for the tests that need none of their own."""

import pytest

from pipeline.embedded.kafka import EmbeddedKafka
from pipeline.embedded.ports import free_ports


@pytest.fixture(scope="session")
def harmed_kafka(tmp_path_factory):
    """A broker that tests may kill and start again, as long as it runs when they end."""
    server = EmbeddedKafka(tmp_path_factory.mktemp("harmed"), free_ports(1)[0])
    server.start()
    yield server
    server.stop()
