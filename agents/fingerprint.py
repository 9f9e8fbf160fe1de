"""The fingerprint agent: `normalised` to `fingerprints`, keyed by edition, so that one worker owns all of an edition."""

from typing import Any

import faust

from agents.batches import Raw, batches
from agents.budget import STORY, budget
from agents.dead_letters import letter
from agents.metrics import count
from agents.outbox import Message, Outbox, Sender
from pipeline.config import Settings
from pipeline.records import NormalisedStory, encode
from pipeline.stages.fingerprint import fingerprint
from pipeline.unreadable import read

STAGE = "fingerprint"


def declare(app: faust.App, settings: Settings, sender: Sender) -> None:
    """Add the agent to the app."""
    topic = settings.topic("fingerprints")

    @app.agent(app.topic(settings.topic("normalised"), schema=Raw()), name=STAGE)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        async for messages in batches(app, stream):
            outbox: Outbox = []
            done = 0
            with budget(STORY) as begin_next:
                for message in messages:
                    begin_next()
                    try:
                        record = fingerprint(read(message, NormalisedStory))
                    except Exception as error:  # noqa: BLE001 - one story must not stop the others, whatever is in it
                        outbox.append(letter(STAGE, message, error))
                        continue
                    outbox.append(Message(topic, record.story.edition.encode(), encode(record)))
                    done += 1
            await sender.send(outbox)
            count(STAGE, {"done": done, "dead": len(messages) - done})
