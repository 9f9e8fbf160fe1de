"""The normalise agent: `stories` to `normalised`, each story to the partition it came from, so that order is kept."""

import faust
from aiokafka.structs import ConsumerRecord

from agents.forward import forward
from agents.runtime.producer import Message, Messages, PackedProducer
from pipeline.codec import encode
from pipeline.config import Settings
from pipeline.kafka.decode import decode_record
from pipeline.records import Story
from pipeline.stages.normalise import normalise
from pipeline.times import from_millis

STAGE = "normalise"


def declare(app: faust.App, settings: Settings, producer: PackedProducer) -> None:
    """Add the agent to the app."""
    topic = settings.topic("normalised")
    rule = settings.normalise_rule()

    def work(messages: Messages, record: ConsumerRecord) -> str:
        story, received_at = decode_record(record, Story), from_millis(record.timestamp)
        normalised = normalise(story, received_at, rule)
        messages.append(Message(topic, normalised.id.encode(), encode(normalised), record.partition))
        return "done"

    forward(app, STAGE, settings.topic("stories"), producer, work)
