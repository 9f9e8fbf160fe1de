"""The fingerprint agent: `normalised` to `fingerprints`, keyed by edition, so that one worker owns all of an edition."""

import faust
from aiokafka.structs import ConsumerRecord

from agents.forward import forward
from agents.runtime.producer import Message, Messages, PackedProducer
from pipeline.codec import encode
from pipeline.config import Settings
from pipeline.kafka.decode import decode_record
from pipeline.records import NormalisedStory
from pipeline.stages.fingerprint import fingerprint

STAGE = "fingerprint"


def declare(app: faust.App, settings: Settings, producer: PackedProducer) -> None:
    """Add the agent to the app."""
    topic = settings.topic("fingerprints")

    def work(messages: Messages, record: ConsumerRecord) -> str:
        made = fingerprint(decode_record(record, NormalisedStory))
        messages.append(Message(topic, made.story.edition.encode(), encode(made)))
        return "done"

    forward(app, STAGE, settings.topic("normalised"), producer, work)
