"""A library's function with other parts, and a consumer that reads every record."""

from types import SimpleNamespace

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.consumer.fetcher import Fetcher

from pipeline.kafka import consumer
from pipeline.kafka.consumer import Consumer, with_parts

PART = SimpleNamespace(name="theirs")


def named(prefix, *, mark="!"):
    """What a library's function may look like."""
    return f"{prefix}{PART.name}{mark}"


def test_the_copy_uses_the_other_part_and_the_original_does_not():
    other = with_parts(named, PART=SimpleNamespace(name="ours"))
    assert (other("a "), named("a ")) == ("a ours!", "a theirs!")


def test_a_part_that_the_function_does_not_use_is_refused():
    with pytest.raises(TypeError, match="named does not use OTHER"):
        with_parts(named, OTHER=1)


def test_only_our_consumer_has_our_fetcher():
    assert Consumer.start.__globals__["Fetcher"] is consumer._Fetcher
    assert AIOKafkaConsumer.start.__globals__["Fetcher"] is Fetcher
