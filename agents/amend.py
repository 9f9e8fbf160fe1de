"""The amend agent: `amendments` to `fingerprints`, where they have a place among the stories of their edition."""

import faust
from aiokafka.structs import ConsumerRecord

from agents.forward import forward
from agents.runtime.producer import Message, Messages, PackedProducer
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

    forward(app, STAGE, settings.topic("amendments"), producer, work)
