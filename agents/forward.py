"""Forward: the loop of the stages that keep no state, from a topic to the next."""

from collections.abc import Callable
from functools import partial
from typing import Any

import faust
from aiokafka.structs import ConsumerRecord

from agents.runtime.budget import STORY_S
from agents.runtime.dead_letters import work_through
from agents.runtime.metrics import count, timed
from agents.runtime.producer import Messages, PackedProducer
from agents.runtime.spans import traced
from agents.transport.batches import Raw, batches

Work = Callable[[Messages, ConsumerRecord], str]
"""Adds to the messages what follows from a record, and returns its outcome."""


def forward(app: faust.App, stage: str, source: str, producer: PackedProducer, work: Work) -> None:
    """Add an agent to the app that reads the topic `source`, and acknowledges a batch once its messages are safe."""

    @app.agent(app.topic(source, schema=Raw()), name=stage)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        async for records in batches(app, stream):
            messages: Messages = []
            with timed(stage), traced(app.traces, stage) as spans:
                outcomes = work_through(stage, records, partial(work, messages), messages, STORY_S, spans)
                await producer.send(messages)
            count(stage, outcomes)
