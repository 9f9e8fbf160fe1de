"""The store agent: `assignments`, `clusters` and `events` to Postgres, a batch a transaction."""

import asyncio
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any

import faust
from aiokafka.structs import ConsumerRecord
from faust.types import TP

from agents.runtime.budget import STORY_S
from agents.runtime.dead_letters import dead_letter, work_through
from agents.runtime.metrics import POSTGRES_RETRIES, POSTGRES_WRITES, count, timed
from agents.runtime.producer import Messages, PackedProducer
from agents.runtime.spans import traced
from agents.transport.batches import Raw, batches
from pipeline.codec import InvalidRecord
from pipeline.config import Settings
from pipeline.kafka.dead_letters import FROM
from pipeline.kafka.decode import decode_record
from pipeline.kafka.topics import RETRY
from pipeline.records import AMENDMENT, TICK, Amended, Assignment, Cluster, EventUpdate, Record
from pipeline.stages.detect.stage import check_moves
from pipeline.storage.offsets import Stored
from pipeline.storage.write import Writer

STAGE = "store"
BATCH_RECORDS = 1_000
"""Records that make a batch full: a transaction of Postgres costs more than one of Kafka."""


def declare(app: faust.App, settings: Settings, producer: PackedProducer) -> None:
    """Add the agent to the app."""
    kinds: dict[str, type[Record]] = {
        settings.topic("assignments"): Assignment,
        settings.topic("clusters"): Cluster,
        settings.topic("events"): EventUpdate,
    }
    retry = settings.topic(RETRY)

    def work(records: list[Record], sources: list[ConsumerRecord], source: ConsumerRecord) -> str:
        kind = kinds.get(source.topic, Assignment)
        is_tombstone = source.value is None and kind is Cluster  # of an expired cluster, which Postgres keeps
        if not is_tombstone and TICK not in source.headers:
            found = decode_record(source, Amended if AMENDMENT in source.headers else kind)
            if isinstance(found, Amended):
                check_moves(found)
            records.append(found)
            sources.append(source)
        return "done"

    @app.agent(app.topic(*kinds, retry, schema=Raw()), name=STAGE)  # type: ignore[untyped-decorator]
    async def agent(stream: Any) -> None:
        writer = Writer(settings.postgres, POSTGRES_RETRIES.inc)
        finished: dict[TP, int] = {}
        async for batch in batches(app, stream, BATCH_RECORDS):
            came = [_as_it_came(record, kinds) if record.topic == retry else record for record in batch]
            ends = {TP(record.topic, record.partition): record.offset + 1 for record in batch if record.topic != retry}
            committed = app.consumer._committed_offset  # noqa: SLF001 - Faust keeps it to itself
            stored = [
                Stored(
                    of.topic,
                    of.partition,
                    max(finished.get(of, 0), committed.get(of) or 0),
                    end,
                    max(end, app.consumer.highwater(of) or 0),
                )
                for of, end in ends.items()
            ]
            messages: Messages = []
            records: list[Record] = []
            sources: list[ConsumerRecord] = []
            with timed(STAGE), traced(app.traces, STAGE) as spans:
                outcomes = work_through(STAGE, came, partial(work, records, sources), messages, STORY_S, spans)
                refused = await asyncio.to_thread(writer.write_acceptable, records, stored)
                finished.update(ends)
                messages.extend(dead_letter(STAGE, sources[index], InvalidRecord(reason)) for index, reason in refused)
                await producer.send(messages)
            POSTGRES_WRITES.inc()
            outcomes.update(done=-len(refused), dead=len(refused))
            count(STAGE, outcomes)


def _as_it_came(record: ConsumerRecord, topics: Collection[str]) -> ConsumerRecord:
    """A record that is tried again, as it was on the topic that it was read from first; as it is, if that is none of these."""
    said = [(value or b"").decode(errors="replace") for name, value in record.headers if name == FROM]
    if not said or said[0] not in topics:
        return record
    return replace(record, topic=said[0], headers=tuple(header for header in record.headers if header[0] != FROM))
