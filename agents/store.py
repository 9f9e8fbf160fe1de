"""The store agent: `assignments`, `clusters` and `events` to Postgres, a batch a transaction."""

import asyncio
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import faust
from aiokafka.structs import ConsumerRecord

from agents.batches import Raw, batches
from agents.dead_letters import letter
from agents.metrics import count
from agents.outbox import Outbox, Sender
from pipeline.config import Settings
from pipeline.dead_letters import FROM
from pipeline.records import KIND, Assignment, Cluster, EventUpdate, InvalidRecord, Record
from pipeline.storage.write import Writer
from pipeline.topics import RETRY
from pipeline.unreadable import read

STAGE = "store"
SIZE = 1_000


def declare(app: faust.App, settings: Settings, sender: Sender) -> None:
    """Add the agent to the app."""
    kinds: dict[str, type[Record]] = {
        settings.topic("assignments"): Assignment,
        settings.topic("clusters"): Cluster,
        settings.topic("events"): EventUpdate,
    }
    retry = settings.topic(RETRY)

    @app.agent(app.topic(*kinds, retry, schema=Raw()), name=STAGE)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        writer = Writer(settings.postgres)
        async for messages in batches(app, stream, SIZE):
            outbox: Outbox = []
            records: list[Record] = []
            sources: list[ConsumerRecord] = []
            for record in messages:
                message = _as_it_came(record, kinds) if record.topic == retry else record
                kind = kinds.get(message.topic, Assignment)
                if (message.value is None and kind is Cluster) or KIND in message.headers:
                    continue  # the tombstone of a dropped cluster, which Postgres keeps, or a tick
                try:
                    records.append(read(message, kind))
                    sources.append(message)
                except InvalidRecord as error:
                    outbox.append(letter(STAGE, message, error))
            for index, reason in await asyncio.to_thread(writer.write_acceptable, records):
                outbox.append(letter(STAGE, sources[index], ValueError(reason)))
            await sender.send(outbox)
            count(STAGE, {"done": len(messages) - len(outbox), "dead": len(outbox)})


def _as_it_came(record: ConsumerRecord, topics: Collection[str]) -> ConsumerRecord:
    """A record that is tried again, as it was on the topic that it was read from first; as it is, if that is none of these."""
    said = [(value or b"").decode(errors="replace") for name, value in record.headers if name == FROM]
    if not said or said[0] not in topics:
        return record
    return replace(record, topic=said[0], headers=tuple(header for header in record.headers if header[0] != FROM))
