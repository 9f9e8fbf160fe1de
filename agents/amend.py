"""The amend agent: `amendments` to `fingerprints`, where they have a place among the stories of their edition."""

from functools import partial
from typing import Any

import faust
from aiokafka.structs import ConsumerRecord

from agents.runtime.budget import STORY_S
from agents.runtime.dead_letters import work_through
from agents.runtime.metrics import count
from agents.runtime.producer import Message, Messages, PackedProducer
from agents.transport.batches import Raw, batches
from pipeline.codec import encode
from pipeline.config import Settings
from pipeline.kafka.decode import decode_amendment
from pipeline.records import AMENDMENT
from pipeline.stages.amend import check

STAGE = "amend"


def declare(app: faust.App, settings: Settings, producer: PackedProducer) -> None:
    """Add the agent to the app."""
    topic = settings.topic("fingerprints")

    def work(messages: Messages, record: ConsumerRecord) -> str:
        amendment = decode_amendment(record)
        check(amendment)
        messages.append(Message(topic, amendment.edition.encode(), encode(amendment), headers=[AMENDMENT]))
        return "done"

    @app.agent(app.topic(settings.topic("amendments"), schema=Raw()), name=STAGE)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        async for records in batches(app, stream):
            messages: Messages = []
            outcomes = work_through(STAGE, records, partial(work, messages), messages, STORY_S)
            await producer.send(messages)
            count(STAGE, outcomes)
