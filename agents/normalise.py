"""The normalise agent: `stories` to `normalised`, each story to the partition it came from, so that order is kept."""

from typing import Any

import faust

from agents.batches import Raw, batches
from agents.budget import STORY, budget
from agents.dead_letters import letter
from agents.metrics import count
from agents.outbox import Message, Outbox, Sender
from pipeline.config import Settings
from pipeline.records import Story, encode
from pipeline.stages.normalise import normalise
from pipeline.stages.profiles import stems
from pipeline.times import from_millis
from pipeline.unreadable import read

STAGE = "normalise"


def declare(app: faust.App, settings: Settings, sender: Sender) -> None:
    """Add the agent to the app."""
    topic = settings.topic("normalised")
    stemmed = stems(settings.profile)

    @app.agent(app.topic(settings.topic("stories"), schema=Raw()), name=STAGE)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        async for messages in batches(app, stream):
            outbox: Outbox = []
            done = 0
            with budget(STORY) as begin_next:
                for message in messages:
                    begin_next()
                    try:
                        story, received_at = read(message, Story), from_millis(message.timestamp)
                        normalised = normalise(story, received_at, settings.language, stems=stemmed)
                    except Exception as error:  # noqa: BLE001 - one story must not stop the others, whatever is in it
                        outbox.append(letter(STAGE, message, error))
                        continue
                    outbox.append(Message(topic, normalised.id.encode(), encode(normalised), message.partition))
                    done += 1
            await sender.send(outbox)
            count(STAGE, {"done": done, "dead": len(messages) - done})
