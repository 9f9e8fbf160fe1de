"""The push process: reads the topic of events, notes in Postgres what is to be sent, and sends it.

Any number of them may run: an update becomes a delivery once, and a delivery is sent by one of them at a time.
"""

import asyncio
from datetime import UTC, datetime
from functools import partial

import aiohttp
import structlog
from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord

from pipeline import __version__
from pipeline.codec import InvalidRecord
from pipeline.config import Settings
from pipeline.kafka.admin import BrokerError, admin, partitions
from pipeline.kafka.consumer import consuming
from pipeline.kafka.decode import decode_record
from pipeline.push.send import TIMEOUT_S, again_at, send
from pipeline.records import EventUpdate
from pipeline.storage.engine import DatabaseError
from pipeline.storage.subscriptions import Delivery, Read, Subscriptions
from pipeline.times import from_millis

WAIT_MS = 500
AT_ONCE = 100
"""Subscriptions that are sent to at once."""
PAUSE_S = 0.2
RETRY_S = 2.0
METADATA_MS = 30_000

log = structlog.get_logger()


async def push(settings: Settings) -> None:
    """Push for ever, through all that Kafka, Postgres and subscribers may do."""
    store = Subscriptions(settings.postgres)
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_for_ever(_read, settings, store))
            tasks.create_task(_for_ever(_send, settings, store))
    finally:
        store.close()


async def _for_ever(work, settings: Settings, store: Subscriptions) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    while True:
        try:
            await work(settings, store)
        except (KafkaError, BrokerError, DatabaseError, OSError) as error:
            log.warning("push waits", error=str(error) or repr(error))
        await asyncio.sleep(RETRY_S)


async def _read(settings: Settings, store: Subscriptions) -> None:
    """Make deliveries of the updates of the topic, from where the last process stopped."""
    topic = settings.topic("events")
    async with admin(settings) as client:
        found = await partitions(client, [topic])
    if not found:
        raise BrokerError(f"Kafka at {settings.kafka} has no topic {topic}: run `newsburst topics create`.")
    options = {"auto_offset_reset": "earliest", "metadata_max_age_ms": METADATA_MS}
    async with consuming(settings, **options) as consumer:
        consumer.assign(found)
        known = await asyncio.to_thread(store.position)
        begins, ends = await consumer.beginning_offsets(found), await consumer.end_offsets(found)
        for of in found:
            start = known.get(of.partition, begins[of])
            consumer.seek(of, start if begins[of] <= start <= ends[of] else begins[of])
        while len(consumer.partitions_for_topic(topic) or found) == len(found):
            fetched = await consumer.getmany(timeout_ms=WAIT_MS)
            if not fetched:
                continue
            updates = [read for records in fetched.values() for read in map(_update, records) if read is not None]
            position = {of.partition: records[-1].offset + 1 for of, records in fetched.items()}
            await asyncio.to_thread(store.take_in, updates, position, _now())


def _update(record: ConsumerRecord) -> Read | None:
    try:
        update = decode_record(record, EventUpdate)
    except InvalidRecord as error:
        log.warning("event skipped", partition=record.partition, offset=record.offset, error=str(error))
        return None
    return Read(update, record.partition, record.offset + 1, from_millis(max(0, record.timestamp)))


async def _send(settings: Settings, store: Subscriptions) -> None:
    """Send what is due: to many subscribers at once, to each one after the other."""
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    headers = {"User-Agent": f"Newsburst/{__version__}"}
    mail = settings.smtp is not None
    sending: set[asyncio.Task[None]] = set()
    async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session:
        try:
            while True:
                room = AT_ONCE - len(sending)
                due = await asyncio.to_thread(partial(store.due, _now(), room, mail=mail)) if room else []
                for one in due:
                    task = asyncio.create_task(_send_on(session, settings, store, one))
                    sending.add(task)
                    task.add_done_callback(sending.discard)
                await asyncio.sleep(PAUSE_S)
        finally:
            for task in sending:
                task.cancel()


async def _send_on(session: aiohttp.ClientSession, settings: Settings, store: Subscriptions, one: Delivery) -> None:
    """Send a delivery, and as long as they arrive the next ones of its subscription."""
    due = [one]
    try:
        while due:
            (one,) = due
            answer = await send(session, one, settings)
            if not answer.arrived:
                when = again_at(one, answer, _now())
                log.warning(
                    "not delivered", subscription=one.subscription.id, event_id=one.event_id, answer=answer.said
                )
                await asyncio.to_thread(store.failed, one, answer.said, _now(), when)
                return
            await asyncio.to_thread(store.delivered, one, answer.said, _now())
            due = await asyncio.to_thread(partial(store.due, _now(), 1, only=one.subscription.id))
    except DatabaseError as error:  # it is sent again when its lease has ended
        log.warning("push waits", error=str(error))


def _now() -> datetime:
    return datetime.now(UTC)
