"""The store agent: `assignments`, `clusters` and `events` to Postgres, a batch a transaction."""

import asyncio
from typing import Any

import faust
from aiokafka.structs import ConsumerRecord

from agents.batches import Raw, batches
from agents.dead_letters import letter
from agents.metrics import count
from agents.outbox import Outbox, Sender
from pipeline.config import Settings
from pipeline.records import Assignment, Cluster, EventUpdate, InvalidRecord, Record, decode
from pipeline.storage.write import Writer

STAGE = "store"
SIZE = 1_000


def declare(app: faust.App, settings: Settings, sender: Sender) -> None:
    """Add the agent to the app."""
    kinds: dict[str, type[Record]] = {
        settings.topic("assignments"): Assignment,
        settings.topic("clusters"): Cluster,
        settings.topic("events"): EventUpdate,
    }

    @app.agent(app.topic(*kinds, schema=Raw()), name=STAGE)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        writer = Writer(settings.postgres)
        async for messages in batches(app, stream, SIZE):
            outbox: Outbox = []
            records: list[Record] = []
            sources: list[ConsumerRecord] = []
            for message in messages:
                if message.value is None and kinds[message.topic] is Cluster:
                    continue  # the tombstone of a dropped cluster: Postgres keeps it
                try:
                    records.append(decode(message.value, kinds[message.topic]))
                    sources.append(message)
                except InvalidRecord as error:
                    outbox.append(letter(STAGE, message, error))
            for index, reason in await asyncio.to_thread(writer.write_acceptable, records):
                outbox.append(letter(STAGE, sources[index], ValueError(reason)))
            await sender.send(outbox)
            count(STAGE, {"done": len(messages) - len(outbox), "dead": len(outbox)})
